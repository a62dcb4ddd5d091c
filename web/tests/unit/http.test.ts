import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, test } from "@playwright/test";

import { get, ApiError } from "../../src/api/http.ts";

/** Runs a server with this listener. */
async function withServer(how: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(how);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/sessions`);
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

const failure = (asked: Promise<unknown>) => asked.then(() => null, (error: unknown) => error);

test("a response that never starts or ends counts as unreachable", async () => {
  const silent: RequestListener = () => undefined;
  const endless: RequestListener = (_, response) => void response.writeHead(200, { "Content-Type": "application/json" }).write("[");
  for (const how of [silent, endless]) {
    await withServer(how, async (url) => {
      const error = await failure(get(url, undefined, 100));
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({ status: 0, code: "unreachable", isTransient: true });
    });
  }
});

test("an aborted request is not reported as unreachable", async () => {
  await withServer(() => undefined, async (url) => {
    const closing = new AbortController();
    const asked = failure(get(url, closing.signal));
    closing.abort();
    expect(await asked).not.toBeInstanceOf(ApiError);
  });
});

test("retries a 503 only without a final answer", async () => {
  for (const [code, isTransient] of [["busy", false], ["refused", false], ["gone", true]] as const) {
    const how: RequestListener = (_, response) =>
      void response.writeHead(503, { "Content-Type": "application/problem+json" }).end(JSON.stringify({ code, detail: "text", status: 503 }));
    await withServer(how, async (url) => expect(await failure(get(url)), code).toMatchObject({ code, isTransient }));
  }
  const full: RequestListener = (_, response) => void response.writeHead(503, { "Content-Type": "text/plain" }).end("too many");
  await withServer(full, async (url) => expect(await failure(get(url))).toMatchObject({ status: 503, isTransient: true }));
});

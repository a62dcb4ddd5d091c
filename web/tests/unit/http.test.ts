import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, test } from "@playwright/test";

import { get, Refusal } from "../../src/api/http.ts";

/** Somebody who answers as is said. */
async function answering(how: RequestListener, use: (place: string) => Promise<void>): Promise<void> {
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

test("who never answers, or never ends, is as good as not there", async () => {
  const silent: RequestListener = () => undefined;
  const endless: RequestListener = (_, response) => void response.writeHead(200, { "Content-Type": "application/json" }).write("[");
  for (const how of [silent, endless]) {
    await answering(how, async (place) => {
      const error = await failure(get(place, undefined, 100));
      expect(error).toBeInstanceOf(Refusal);
      expect(error).toMatchObject({ status: 0, code: "unreachable", passes: true });
    });
  }
});

test("who asks no more is not told that nobody is there", async () => {
  await answering(() => undefined, async (place) => {
    const closing = new AbortController();
    const asked = failure(get(place, closing.signal));
    closing.abort();
    expect(await asked).not.toBeInstanceOf(Refusal);
  });
});

test("an answer is not asked for again, though its status is that of one who can't answer", async () => {
  for (const [code, passes] of [["busy", false], ["refused", false], ["gone", true]] as const) {
    const how: RequestListener = (_, response) =>
      void response.writeHead(503, { "Content-Type": "application/problem+json" }).end(JSON.stringify({ code, detail: "said", status: 503 }));
    await answering(how, async (place) => expect(await failure(get(place)), code).toMatchObject({ code, passes }));
  }
  const full: RequestListener = (_, response) => void response.writeHead(503, { "Content-Type": "text/plain" }).end("too many");
  await answering(full, async (place) => expect(await failure(get(place))).toMatchObject({ status: 503, passes: true }));
});

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

import { Kennel, KennelUnreachable, Session } from "@kennel/client";

type Handler = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void;

/** A scripted daemon that records its requests. */
class FakeDaemon implements AsyncDisposable {
  readonly requests: { method: string; url: string; body: string; headers: http.IncomingHttpHeaders }[] = [];

  private constructor(
    readonly folder: string,
    private readonly server: http.Server,
  ) {}

  static async make(handle: Handler): Promise<FakeDaemon> {
    const folder = await mkdtemp(path.join(tmpdir(), "kennel-sdk-"));
    const server = http.createServer((request, response) => {
      let body = "";
      request.on("data", (bytes) => (body += String(bytes)));
      request.on("end", () => {
        const { method = "", url = "", headers } = request;
        if (url === "/v1/daemon") return void response.end(JSON.stringify({ home_id: "x" }));
        daemon.requests.push({ method, url, body, headers });
        handle(request, response, body);
      });
    });
    const daemon = new FakeDaemon(folder, server);
    await new Promise<void>((listening) => server.listen(path.join(folder, "kennel.sock"), listening));
    return daemon;
  }

  connect(reconnectMs: number): Promise<Kennel> {
    return Kennel.connect({ home: this.folder, reconnectMs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
    await rm(this.folder, { recursive: true });
  }
}

/** The fields of a session that these tests need. */
const view = (asked_by = "") => ({ session: "s", id: "s", phase: "running", spec: { asked_by }, exit: null, reason: null });

test("does not send input twice", async () => {
  await using daemon = await FakeDaemon.make((request) => request.socket.destroy());
  await using kennel = await daemon.connect(1000);
  const session = new Session(kennel.api as never, view() as never);
  await assert.rejects(session.write("x"), (error) => {
    assert.ok(error instanceof KennelUnreachable);
    assert.equal(error.reached, "maybe");
    return true;
  });
  assert.equal(daemon.requests.length, 1);
});

test("repeats the creation of a session with the same key", async () => {
  await using daemon = await FakeDaemon.make((request, response, body) => {
    if (daemon.requests.length < 3) return void request.socket.destroy();
    const { asked_by } = JSON.parse(body) as { asked_by: string };
    response.writeHead(201).end(JSON.stringify(view(asked_by)));
  });
  await using kennel = await daemon.connect(5000);
  assert.equal((await kennel.run(["true"])).id, "s");
  const bodies = new Set(daemon.requests.map(({ body }) => body));
  assert.equal(daemon.requests.length, 3);
  assert.equal(bodies.size, 1);
  assert.ok((JSON.parse([...bodies][0] ?? "{}") as { key: string }).key.length > 20);
});

test("retries when the daemon is shutting down", async () => {
  await using daemon = await FakeDaemon.make((_, response) => {
    const problem = { type: "urn:kennel:gone", title: "", status: 503, detail: "the daemon is shutting down", code: "gone" };
    if (daemon.requests.length < 3) return void response.writeHead(503).end(JSON.stringify(problem));
    response.end(JSON.stringify({ strays: [], outside: [] }));
  });
  await using kennel = await daemon.connect(5000);
  assert.deepEqual((await kennel.strays()).strays, []);
  assert.equal(daemon.requests.length, 3);
});

test("gives up after the time limit", async () => {
  await using daemon = await FakeDaemon.make((request) => request.socket.destroy());
  await using kennel = await daemon.connect(200);
  const started = Date.now();
  await assert.rejects(kennel.strays(), KennelUnreachable);
  assert.ok(Date.now() - started >= 200);
  assert.ok(daemon.requests.length > 1);
});

test("resumes a stream after the last complete event", async () => {
  const event = (seq: number) => `id: ${seq}\nevent: k\ndata: {"seq":${seq}}\n\n`;
  await using daemon = await FakeDaemon.make((request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const after = Number(request.headers["last-event-id"] ?? 0);
    response.write(event(after + 1) + event(after + 2) + event(after + 3).slice(0, 10), () => request.socket.destroy());
  });
  await using kennel = await daemon.connect(5000);
  const seen: number[] = [];
  for await (const { seq } of kennel.events()) if (seen.push(seq) === 7) break;
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7]);
  const ids = daemon.requests.map(({ headers }) => headers["last-event-id"]);
  assert.deepEqual(ids, [undefined, "2", "4", "6"]);
});

test("aborts a request without a response immediately", async () => {
  await using daemon = await FakeDaemon.make(() => undefined);
  await using kennel = await daemon.connect(5000);
  const stopper = new AbortController();
  const session = new Session(kennel.api as never, view() as never);
  const waiting = session.wait({ signal: stopper.signal });
  waiting.catch(() => undefined);
  stopper.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});

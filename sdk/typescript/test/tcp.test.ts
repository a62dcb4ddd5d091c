import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { Kennel, KennelProblem } from "@kennel/client";

import { agent, TestHome } from "./home.js";

test("TCP requests have the token, and a wrong one is refused", async () => {
  const server = http.createServer((request, response) => {
    if (request.headers.authorization !== "Bearer right") {
      const problem = { type: "", title: "", status: 401, detail: "invalid token", code: "unauthorized" };
      return void response.writeHead(401).end(JSON.stringify(problem));
    }
    response.end(JSON.stringify(request.url === "/v1/daemon" ? { home_id: "x" } : { strays: [], outside: [] }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    await using kennel = await Kennel.connect({ url, token: "right" });
    assert.deepEqual((await kennel.strays()).strays, []);
    await assert.rejects(Kennel.connect({ url, token: "wrong" }), (error) => {
      assert.ok(error instanceof KennelProblem);
      assert.deepEqual([error.status, error.detail], [401, "invalid token"]);
      return true;
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("sessions, streams and terminals work over TCP, across a daemon crash", async () => {
  await using home = await TestHome.make();
  const { url } = await home.kennel.api.call("listen", { body: { listen: "127.0.0.1:0" } });
  const { secret } = await home.kennel.api.call("getToken", {});
  await using kennel = await Kennel.connect({ url, token: secret });
  const session = await kennel.run([agent, "lines", "100", "10", "0"], { env: home.env });
  let text = "";
  let killed = false;
  for await (const chunk of session.output({ follow: true })) {
    text += chunk.text;
    if (!killed && text.includes("line 20\n")) {
      killed = true;
      await home.killDaemon();
    }
  }
  const lines = Array.from({ length: 100 }, (_, number) => `line ${number}\n`);
  assert.equal(text, ["ready\n", ...lines].join(""));
  const size = { columns: 80, rows: 24 };
  const other = await kennel.run([agent, "cat-tty-line"], { env: home.env, terminal: size });
  await using terminal = await other.terminal({ replay: "all" });
  await terminal.write("hello\n");
  let shown = "";
  for await (const bytes of terminal) shown += bytes.toString();
  assert.match(shown, /got:hello/);
});

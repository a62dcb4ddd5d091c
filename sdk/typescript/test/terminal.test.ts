import assert from "node:assert/strict";
import { test } from "node:test";

import type { Terminal } from "@kennel/client";

import { agent, TestHome } from "./home.js";

/** Reads until the text matches. */
async function until(bytes: AsyncIterator<Buffer>, wanted: RegExp): Promise<string> {
  let text = "";
  while (!wanted.test(text)) {
    const next = await bytes.next();
    assert.ok(!next.done, `it ended before ${wanted}: ${JSON.stringify(text)}`);
    text += next.value.toString();
  }
  return text;
}

/** A timeout for tests that would hang. */
const timeout = () => AbortSignal.timeout(20_000);

test("sends input to a terminal", async () => {
  await using home = await TestHome.make();
  const size = { columns: 80, rows: 24 };
  const session = await home.kennel.run([agent, "cat-tty-line"], { env: home.env, terminal: size });
  await using terminal: Terminal = await session.terminal({ replay: "all", signal: timeout() });
  const bytes = terminal[Symbol.asyncIterator]();
  await terminal.write("hello\n");
  assert.match(await until(bytes, /got:hello/), /hello/);
  while (!(await bytes.next()).done);
  assert.equal((await session.wait()).exitCode, 0);
});

test("resizes a terminal", async () => {
  await using home = await TestHome.make();
  const size = { columns: 80, rows: 24 };
  await using session = await home.kennel.run([agent, "winsize", "100"], { env: home.env, terminal: size });
  await using terminal = await session.terminal({ replay: "all", signal: timeout() });
  const bytes = terminal[Symbol.asyncIterator]();
  await until(bytes, /24x80/);
  await terminal.resize({ columns: 100, rows: 30 });
  await until(bytes, /30x100/);
  await terminal.resize({ columns: 70, rows: 20 });
  await until(bytes, /20x70/);
});

test("a terminal continues across a daemon crash", async () => {
  await using home = await TestHome.make();
  const size = { columns: 80, rows: 24 };
  await using session = await home.kennel.run([agent, "lines", "200", "10", "0"], { env: home.env, terminal: size });
  await using terminal = await session.terminal({ replay: "all", signal: timeout() });
  let text = "";
  let killed = false;
  for await (const bytes of terminal) {
    text += bytes.toString();
    if (!killed && text.includes("line 20\r\n")) {
      killed = true;
      await home.killDaemon();
    }
  }
  const lines = Array.from({ length: 200 }, (_, number) => `line ${number}\r\n`);
  assert.equal(text, ["ready\r\n", ...lines].join(""));
});

test("a read-only terminal refuses input", async () => {
  await using home = await TestHome.make();
  const size = { columns: 80, rows: 24 };
  await using session = await home.kennel.run([agent, "cat-tty-line"], { env: home.env, terminal: size });
  await using terminal = await session.terminal({ readOnly: true, signal: timeout() });
  await terminal.write("hello\n");
  const reading = (async () => {
    for await (const _ of terminal);
  })();
  await session.stop();
  await reading;
  assert.equal(terminal.refusals.length, 1);
});

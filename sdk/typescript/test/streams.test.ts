import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { agent, eventually, TestHome } from "./home.js";

test("follows the output of both streams to the end", async () => {
  await using home = await TestHome.make();
  const session = await home.kennel.run(["sh", "-c", "echo out; echo err >&2; printf '\\377'"], { env: home.env });
  const texts = { stdout: "", stderr: "", terminal: "" };
  const bytes: Buffer[] = [];
  for await (const chunk of session.output({ follow: true })) {
    texts[chunk.stream] += chunk.text;
    if (chunk.stream === "stdout") bytes.push(chunk.bytes);
  }
  assert.deepEqual(texts, { stdout: "out\n\ufffd", stderr: "err\n", terminal: "" });
  assert.deepEqual(Buffer.concat(bytes), Buffer.from("out\n\xff", "latin1"));
  await session.wait();
  const errors = [];
  for await (const { text } of session.output({ stream: "stderr" })) errors.push(text);
  assert.deepEqual(errors, ["err\n"]);
});

test("output has every line once across daemon crashes", async () => {
  await using home = await TestHome.make();
  const session = await home.kennel.run([agent, "lines", "150", "10", "0"], { env: home.env });
  let text = "";
  let kills = 0;
  for await (const chunk of session.output({ follow: true })) {
    assert.equal(chunk.gap, null);
    assert.equal(chunk.offset, Buffer.byteLength(text));
    text += chunk.text;
    if (text.length > 300 * (kills + 1) && kills < 2) {
      kills++;
      await home.killDaemon();
    }
  }
  const lines = Array.from({ length: 150 }, (_, number) => `line ${number}\n`);
  assert.equal(text, ["ready\n", ...lines].join(""));
  assert.equal(kills, 2);
  assert.equal((await session.wait()).exitCode, 0);
});

test("a slow reader gets all output", async () => {
  await using home = await TestHome.make();
  const size = 3_000_000;
  const session = await home.kennel.run([agent, "flood", String(size)], { env: home.env });
  let length = 0;
  let pauses = 0;
  for await (const { bytes } of session.output({ follow: true })) {
    length += bytes.length;
    if (pauses++ < 10) await sleep(10);
  }
  assert.equal(length, size);
});

test("leaving the iteration closes the connection", async () => {
  await using home = await TestHome.make();
  await using session = await home.kennel.run([agent, "lines", "100000", "5", "0"], { env: home.env });
  for await (const chunk of session.output({ follow: true })) if (chunk.text.includes("line 3")) break;
  const stopper = new AbortController();
  const reading = async () => {
    for await (const chunk of session.output({ follow: true, signal: stopper.signal })) {
      if (chunk.text.includes("line 9")) stopper.abort();
    }
  };
  await assert.rejects(reading, { name: "AbortError" });
});

test("events come once and in order across daemon crashes", async () => {
  await using home = await TestHome.make();
  const stopper = new AbortController();
  const seen: { seq: number; kind: string; session: string | null }[] = [];
  const reading = (async () => {
    for await (const event of home.kennel.events({ since: 0, signal: stopper.signal })) seen.push(event);
  })();
  reading.catch(() => undefined);
  const ids: string[] = [];
  for (let round = 0; round < 3; round++) {
    const session = await home.kennel.run([agent, "exit", "0"], { env: home.env });
    await session.wait();
    ids.push(session.id);
    await home.killDaemon();
  }
  const cleaned = () => seen.filter(({ kind }) => kind === "cleaned").map(({ session }) => session);
  await eventually("all ends were received", () => cleaned().length >= 3);
  await eventually("all daemon starts were received", () => seen.filter(({ kind }) => kind === "daemon_started").length >= 4);
  stopper.abort();
  await assert.rejects(reading, { name: "AbortError" });
  assert.deepEqual(cleaned(), ids);
  assert.deepEqual(
    seen.map(({ seq }) => seq),
    seen.map((_, at) => (seen[0]?.seq ?? 0) + at),
    "no gap and no repetition",
  );
});

test("filters events by session and kind", async () => {
  await using home = await TestHome.make();
  const other = await home.kennel.run([agent, "exit", "0"], { env: home.env });
  await other.wait();
  const session = await home.kennel.run([agent, "exit", "0"], { env: home.env });
  await session.wait();
  for await (const event of home.kennel.events({ session: session.id, kinds: ["running", "cleaned"] })) {
    assert.equal(event.session, session.id);
    if (event.kind === "cleaned") break;
    assert.equal(event.kind, "running");
  }
});

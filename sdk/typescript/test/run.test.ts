import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Kennel, KennelNotStarted, KennelProblem, KennelUnreachable } from "@kennel/client";

import { agent, eventually, TestHome } from "./home.js";

test("runs a command with folder and environment, and returns its exit code", async () => {
  await using home = await TestHome.make();
  const session = await home.kennel.run(["sh", "-c", 'test "$PWD" = "$WORK" && exit 7'], {
    cwd: home.work,
    env: { ...home.env, WORK: home.work },
    name: "seven",
  });
  assert.equal(session.name, "seven");
  const outcome = await session.wait();
  assert.equal(outcome.exitCode, 7);
  assert.deepEqual(outcome.exit, { kind: "code", code: 7 });
  assert.deepEqual(outcome.reason, { kind: "exited" });
  assert.equal((await home.kennel.session("seven")).id, session.id);
});

test("a stop ends the whole process tree", async () => {
  await using home = await TestHome.make();
  const session = await home.kennel.run([agent, "setsid", "3"], { env: home.env });
  const inside = async () => (await session.inspect()).members.length;
  await eventually("the tree is up", async () => (await inside()) >= 4);
  const stopped = await session.stop({ graceMs: 2000 });
  assert.equal(stopped.result, "stopped");
  assert.equal((await session.stop()).result, "already_gone");
  assert.equal(session.phase, "cleaned");
});

test("leaving the scope stops the session", async () => {
  await using home = await TestHome.make();
  let id: string;
  {
    await using session = await home.kennel.run([agent, "double-fork"], { env: home.env });
    id = session.id;
  }
  const gone = await home.kennel.session(id);
  assert.equal(gone.phase, "cleaned");
  assert.equal(gone.view.reason?.kind, "stopped");
});

test("an abort signal stops a running session", async () => {
  await using home = await TestHome.make();
  const stopper = new AbortController();
  const session = await home.kennel.run([agent, "sleep"], { env: home.env, signal: stopper.signal });
  stopper.abort();
  const outcome = await session.wait();
  assert.equal(outcome.reason?.kind, "stopped");
});

test("an abort during the start leaves no session", async () => {
  await using home = await TestHome.make();
  const why = new Error("aborted");
  const runs = [0, 0, 1, 2, 4, 8, 12, 20, 40].map(async (pause) => {
    const stopper = new AbortController();
    // It never becomes ready, so every abort hits a starting session.
    const starting = home.kennel.run([agent, "with-daemon", "sleep"], {
      env: home.env,
      ready: { kind: "report" },
      until: "ready",
      signal: stopper.signal,
    });
    starting.catch(() => undefined);
    if (pause > 0) await sleep(pause);
    stopper.abort(why);
    await assert.rejects(starting, why);
  });
  await Promise.all(runs);
  for await (const session of home.kennel.sessions()) assert.fail(`${session.id} is still ${session.phase}`);
  for await (const session of home.kennel.sessions({ all: true })) {
    assert.equal(session.view.reason?.kind, "stopped");
  }
});

test("an aborted signal sends no request", async () => {
  await using home = await TestHome.make();
  await assert.rejects(home.kennel.run(["true"], { signal: AbortSignal.abort() }), { name: "AbortError" });
  for await (const session of home.kennel.sessions({ all: true })) assert.fail(session.id);
});

test("a request with the same key joins the session and does not stop it", async () => {
  await using home = await TestHome.make();
  const key = randomUUID();
  const run = (signal?: AbortSignal) =>
    home.kennel.run([agent, "sleep"], {
      env: home.env,
      cwd: home.work,
      key,
      ready: { kind: "report" },
      until: "ready",
      ...(signal && { signal }),
    });
  const first = run();
  first.catch(() => undefined);
  const sessions = async () => {
    const found = [];
    for await (const session of home.kennel.sessions({ key })) found.push(session);
    return found;
  };
  await eventually("the session exists", async () => (await sessions()).length === 1);
  const stopper = new AbortController();
  const second = run(stopper.signal);
  second.catch(() => undefined);
  await sleep(50);
  stopper.abort();
  await assert.rejects(second, { name: "AbortError" });
  const [only, ...others] = await sessions();
  assert.equal(others.length, 0);
  assert.equal(only?.view.wanted, "running");
  await only?.stop();
  assert.equal((await first).id, only?.id);
});

test("a daemon crash during requests creates no second session", async () => {
  await using home = await TestHome.make();
  const runs = Array.from({ length: 6 }, (_, number) =>
    home.kennel.run([agent, "sleep"], { env: home.env, name: `n${number}` }),
  );
  await home.killDaemon();
  const sessions = await Promise.all(runs);
  const names = [];
  for await (const session of home.kennel.sessions({ all: true })) names.push(session.name);
  assert.deepEqual(names.sort(), ["n0", "n1", "n2", "n3", "n4", "n5"]);
  await home.killDaemon();
  const waits = sessions.map((session) => session.wait());
  const stops = await Promise.all(sessions.map((session) => session.stop({ now: true })));
  // The killed daemon may have received the stop: then the next one reports that the session has ended.
  for (const { result } of stops) assert.notEqual(result, "still_alive");
  for (const { reason } of await Promise.all(waits)) assert.equal(reason?.kind, "stopped");
});

test("errors have code, status and hint", async () => {
  await using home = await TestHome.make();
  await assert.rejects(home.kennel.session("nobody"), (error) => {
    assert.ok(error instanceof KennelProblem);
    assert.deepEqual([error.code, error.status], ["not_found", 404]);
    assert.match(error.hint ?? "", /kennel ps/);
    assert.match(error.message, /nobody/);
    return true;
  });
  const wrong = home.kennel.api.call("stopSession", { path: { reference: "x" }, body: { graze: 1 } as never });
  await assert.rejects(wrong, { code: "invalid", status: 422 });
  await assert.rejects(home.kennel.run(["/no/such/program"], { env: home.env }), (error) => {
    assert.ok(error instanceof KennelNotStarted);
    assert.equal(error.exitCode, 204);
    return true;
  });
});

test("connecting fails immediately without a daemon", async () => {
  await assert.rejects(Kennel.connect({ home: "/nonexistent" }), (error) => {
    assert.ok(error instanceof KennelUnreachable);
    assert.equal(error.reached, "unsent");
    return true;
  });
});

test("sends input and its end to the agent", async () => {
  await using home = await TestHome.make();
  const session = await home.kennel.run([agent, "echo"], { env: home.env, stdin: "pipe" });
  await session.write("one\n");
  await session.endInput();
  assert.equal((await session.wait()).exitCode, 0);
});

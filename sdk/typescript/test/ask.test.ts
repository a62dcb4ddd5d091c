import assert from "node:assert/strict";
import { test } from "node:test";

import { agent, eventually, TestHome } from "./home.js";

test("asks an agent", async () => {
  await using home = await TestHome.make();
  await home.script("ok forty-two");
  const { env } = home;
  const answer = await home.kennel.ask({ agent: "claude", prompt: "six by seven?", cwd: home.work, env });
  assert.equal(answer.verdict, "succeeded");
  assert.equal(answer.answer, "forty-two");
  assert.equal(answer.usage.output_tokens, 5);
});

test("streams the steps of an agent across attempts", async () => {
  await using home = await TestHome.make();
  await home.script("overloaded", "tool ok done");
  const { env } = home;
  const parts = [];
  for await (const part of home.kennel.askStream({ agent: "claude", prompt: "go", cwd: home.work, env })) parts.push(part);
  const kinds = parts.map(({ event }) => event);
  assert.equal(kinds.filter((kind) => kind === "attempt").length, 2);
  assert.ok(parts.some((part) => part.event === "tool_began" && part.name === "Bash"));
  assert.ok(parts.some((part) => part.event === "text" && part.text === "done"));
  const last = parts.at(-1);
  assert.ok(last?.event === "verdict" && last.answer === "done" && last.attempts === 2);
});

test("an abort and leaving the iteration end the prompt", async () => {
  await using home = await TestHome.make();
  await home.script("hang");
  const { env } = home;
  const stopper = new AbortController();
  const request = { agent: "claude", prompt: "go", cwd: home.work, env };
  const asking = home.kennel.ask({ ...request, signal: stopper.signal });
  asking.catch(() => undefined);
  const live = async () => {
    let count = 0;
    for await (const session of home.kennel.sessions()) if (session.phase === "running") count++;
    return count;
  };
  await eventually("it runs", async () => (await live()) === 1);
  stopper.abort();
  await assert.rejects(asking, { name: "AbortError" });
  assert.equal(await live(), 0);
  for await (const part of home.kennel.askStream(request)) if (part.event === "conversation") break;
  assert.equal(await live(), 0);
});

test("a prompt survives a daemon crash", async () => {
  await using home = await TestHome.make();
  await home.script("hang");
  const { env } = home;
  const session = await home.kennel.beginAsk({ agent: "claude", prompt: "go", cwd: home.work, env });
  await eventually("it runs", async () => (await session.refresh()).phase === "running");
  await home.killDaemon();
  const answer = session.answer();
  await session.stop();
  assert.equal((await answer).verdict, "cancelled");
});

test("a member keeps its conversation", async () => {
  await using home = await TestHome.make();
  await home.script("ok one", "ok two");
  await home.kennel.members.add("anna", { settings: { agent: "claude" }, cwd: home.work });
  const { env } = home;
  const first = await home.kennel.ask({ member: "anna", prompt: "1", env });
  const second = await home.kennel.ask({ member: "anna", prompt: "2", env });
  assert.deepEqual([first.answer, second.answer], ["one", "two"]);
  assert.equal(second.conversation, first.conversation);
  assert.deepEqual((await home.kennel.members.list()).map(({ name }) => name), ["anna"]);
  await home.kennel.members.remove("anna");
  await assert.rejects(home.kennel.members.get("anna"), { code: "not_found" });
});

test("runs and cancels a plan", async () => {
  await using home = await TestHome.make();
  await home.script("ok fine");
  const one = { name: "a", who: { agent: "claude" }, prompt: { text: "do {{input.what}}" } };
  const spec = { name: "small", inputs: { what: {} }, stages: [{ name: "first", agents: [one] }] };
  const { env } = home;
  const plan = await home.kennel.plans.run(spec, { inputs: { what: "it" }, cwd: home.work, env });
  assert.equal((await plan.wait()).state, "succeeded");
  await home.script("hang");
  await using other = await home.kennel.plans.run(spec, { inputs: { what: "it" }, cwd: home.work, env });
  const agents = async () => (await other.refresh()).stages.flatMap((stage) => stage.agents);
  await eventually("its agent runs", async () => (await agents()).some(({ state }) => state === "running"));
  assert.equal((await other.cancel()).state, "cancelled");
  assert.equal((await home.kennel.plans.list()).length, 2);
});

test("a child session ends with its parent", async () => {
  await using home = await TestHome.make();
  const session = await home.kennel.run([agent, "sleep"], { env: home.env });
  const child = await home.kennel.run([agent, "sleep"], { env: home.env, parent: session.id });
  await session.stop();
  assert.equal((await child.wait()).reason?.kind, "parent_ended");
});

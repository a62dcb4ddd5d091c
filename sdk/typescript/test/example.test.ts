import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { agent, kennelProgram, TestHome } from "./home.js";

test("the example loses no line and leaves no stray", async () => {
  await using home = await TestHome.make();
  const example = fileURLToPath(new URL("../examples/orchestrator.js", import.meta.url));
  const env = { ...home.env, KENNEL: kennelProgram, KENNEL_HOME: home.home };
  const command = [example, agent, "lines", "100000", "10", "0"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { env, cwd: home.work });
  assert.equal(stderr, "");
  const lines = stdout.trimEnd().split("\n");
  for (const name of ["ann", "bob", "dan"]) {
    const own = lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(5));
    const printed = own.filter((line) => line.startsWith("line "));
    assert.deepEqual(printed, printed.map((_, number) => `line ${number}`), `${name} lost or repeats something`);
    assert.equal(own.filter((line) => /^stopped in \d+ ms$/.test(line)).length, 1, own.join());
  }
  assert.ok(lines.includes("eve: AbortError"));
  assert.equal(lines.at(-1), "strays: 0");
  for await (const session of home.kennel.sessions()) assert.fail(`${session.name} is still there`);
});

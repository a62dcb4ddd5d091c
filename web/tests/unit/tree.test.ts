import { expect, test } from "@playwright/test";

import { build, changes, lines, stateLabel, type Branch } from "../../src/pages/session/processes/tree.ts";

const process = (pid: number, parent: number, name = `p${pid}`) => ({ pid, parent, name, state: "S", command: name });
const shape = (branch: Branch): unknown => [branch.process.pid, ...branch.children.map(shape)];

test("puts children below their parents, in any order", () => {
  const tree = build([process(13, 12), process(12, 10), process(10, 9), process(11, 10)], 10);
  expect(tree.agent && shape(tree.agent)).toEqual([10, [11], [12, [13]]]);
  expect(tree.reparented).toEqual([]);
});

test("re-parents processes whose parent is not in the pen", () => {
  const tree = build([process(10, 9), process(30, 9), process(31, 30), process(20, 1)], 10);
  expect(tree.agent && shape(tree.agent)).toEqual([10]);
  expect(tree.reparented.map(shape)).toEqual([[20], [30, [31]]]);
});

test("re-parents all processes after the agent has exited", () => {
  const tree = build([process(11, 9), process(12, 11)], 10);
  expect(tree.agent).toBeNull();
  expect(tree.reparented.map(shape)).toEqual([[11, [12]]]);
  expect(build([process(11, 9)], null).reparented.map(shape)).toEqual([[11]]);
  expect(build([], 10)).toEqual({ agent: null, reparented: [] });
});

test("keeps the agent at the top, no matter what its parent is", () => {
  const tree = build([process(1, 9), process(10, 1)], 10);
  expect(tree.agent && shape(tree.agent)).toEqual([10]);
  expect(tree.reparented.map(shape)).toEqual([[1]]);
});

test("survives a cycle of parents", () => {
  const members = [process(10, 9), process(20, 21), process(21, 20), process(22, 22), process(23, 20)];
  const tree = build(members, 10);
  const pids: number[] = [];
  const walk = (branch: Branch) => {
    pids.push(branch.process.pid);
    branch.children.forEach(walk);
  };
  [tree.agent, ...tree.reparented].forEach((branch) => branch && walk(branch));
  expect(pids.toSorted()).toEqual([10, 20, 21, 22, 23]);
});

test("hides folded lines and counts positions", () => {
  const tree = build([process(10, 9), process(11, 10), process(12, 11), process(13, 10), process(30, 9)], 10);
  const visible = (folded: string[]) => lines(tree, new Set(folded)).map((line) => `${line.level} ${line.key} ${line.position}/${line.of}`);
  expect(visible([])).toEqual(["1 10 1/2", "2 11 1/2", "3 12 1/1", "2 13 2/2", "1 reparented 2/2", "2 30 1/1"]);
  expect(visible(["11", "reparented"])).toEqual(["1 10 1/2", "2 11 1/2", "2 13 2/2", "1 reparented 2/2"]);
  expect(visible(["10"])).toEqual(["1 10 1/2", "1 reparented 2/2", "2 30 1/1"]);
});

test("compares two process lists", () => {
  const found = changes([process(1, 0), process(2, 0)], [process(2, 0), process(3, 0)]);
  expect(found.appeared.map((it) => it.pid)).toEqual([3]);
  expect(found.vanished.map((it) => it.pid)).toEqual([1]);
});

test("labels process states", () => {
  expect(stateLabel("Z")).toBe("zombie");
  expect(stateLabel("W")).toBe("state W");
});

import { expect, test } from "@playwright/test";

import { build, changes, lines, stateWord, type Branch } from "../../src/pages/session/processes/tree.ts";

const process = (pid: number, parent: number, name = `p${pid}`) => ({ pid, parent, name, state: "S", command: name });
const shape = (branch: Branch): unknown => [branch.process.pid, ...branch.children.map(shape)];

test("children are below their parents, whatever the order", () => {
  const tree = build([process(13, 12), process(12, 10), process(10, 9), process(11, 10)], 10);
  expect(tree.agent && shape(tree.agent)).toEqual([10, [11], [12, [13]]]);
  expect(tree.reparented).toEqual([]);
});

test("those whose parent is not in the pen are re-parented, with their own children", () => {
  const tree = build([process(10, 9), process(30, 9), process(31, 30), process(20, 1)], 10);
  expect(tree.agent && shape(tree.agent)).toEqual([10]);
  expect(tree.reparented.map(shape)).toEqual([[20], [30, [31]]]);
});

test("an agent that has gone leaves the others behind", () => {
  const tree = build([process(11, 9), process(12, 11)], 10);
  expect(tree.agent).toBeNull();
  expect(tree.reparented.map(shape)).toEqual([[11, [12]]]);
  expect(build([process(11, 9)], null).reparented.map(shape)).toEqual([[11]]);
  expect(build([], 10)).toEqual({ agent: null, reparented: [] });
});

test("the agent is at the top though another member is told as its parent", () => {
  const tree = build([process(1, 9), process(10, 1)], 10);
  expect(tree.agent && shape(tree.agent)).toEqual([10]);
  expect(tree.reparented.map(shape)).toEqual([[1]]);
});

test("a circle of parents loses nobody, and does not hang", () => {
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

test("what is folded hides what is below it, and places are counted", () => {
  const tree = build([process(10, 9), process(11, 10), process(12, 11), process(13, 10), process(30, 9)], 10);
  const told = (folded: string[]) => lines(tree, new Set(folded)).map((line) => `${line.level} ${line.key} ${line.place}/${line.of}`);
  expect(told([])).toEqual(["1 10 1/2", "2 11 1/2", "3 12 1/1", "2 13 2/2", "1 reparented 2/2", "2 30 1/1"]);
  expect(told(["11", "reparented"])).toEqual(["1 10 1/2", "2 11 1/2", "2 13 2/2", "1 reparented 2/2"]);
  expect(told(["10"])).toEqual(["1 10 1/2", "1 reparented 2/2", "2 30 1/1"]);
});

test("who came and who went between two looks", () => {
  const found = changes([process(1, 0), process(2, 0)], [process(2, 0), process(3, 0)]);
  expect(found.appeared.map((it) => it.pid)).toEqual([3]);
  expect(found.vanished.map((it) => it.pid)).toEqual([1]);
});

test("states are told in words, unknown ones too", () => {
  expect(stateWord("Z")).toBe("ended, not yet collected");
  expect(stateWord("W")).toBe("state W");
});

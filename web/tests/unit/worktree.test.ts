import { expect, test } from "@playwright/test";

import { isSame, hasLosses } from "../../src/actions/worktree.ts";
import type { LossesView } from "../../src/api/types.ts";

const NONE: LossesView = { why: [], changes: 0, changed: [], commits: 0, newest: [], unknown: null };

test("compares losses by every file and commit", () => {
  const one = { ...NONE, why: ["1 untracked"], changes: 1, changed: ["a"] };
  expect(isSame(one, { ...one })).toBe(true);
  expect(isSame(one, { ...one, changed: ["b"] })).toBe(false);
  expect(isSame(one, { ...one, newest: [{ id: "abc", subject: "Fix" }] })).toBe(false);
  expect(isSame(NONE, { ...NONE, unknown: "git is gone" })).toBe(false);
  expect([NONE, one, { ...NONE, unknown: "git is gone" }].map(hasLosses)).toEqual([false, true, true]);
});

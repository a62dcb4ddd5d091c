import { expect, test } from "@playwright/test";

import { isOpen, outcome, type Progress, request } from "../../src/actions/stop.ts";

const told = (result: string, processes: number | null, survivors: number = 0, took_ms = 1): { processes: number | null; progress: Progress } => ({
  processes,
  progress: { state: "told", answer: { result, session: { pen: "subtree" }, survivors: Array(survivors).fill({ pid: 1, name: "x", why: "y" }), took_ms } as never },
});
const failed = { processes: 1, progress: { state: "failed", error: new Error("no") } as Progress };

test("what came of a stop is said in one line", () => {
  expect(outcome([told("stopped", 10), told("stopped", 3), told("stopped", 1)], 300)).toEqual({
    tone: "good", text: "3 sessions stopped, 14 processes ended, pens empty, 300 ms",
  });
  expect(outcome([told("stopped", 1, 0, 1500)], 1600).text).toBe("1 session stopped, 1 process ended, pen empty, 1.5 s");
});

test("nothing is counted that nobody has seen", () => {
  expect(outcome([told("stopped", 3), told("stopped", null)], 5).text).toBe("2 sessions stopped, pens empty, 5 ms");
});

test("who is left is not called stopped", () => {
  const came = outcome([told("stopped", 1), told("still_alive", 4, 2), told("already_gone", null), failed], 5);
  expect(came.tone).toBe("bad");
  expect(came.text).toBe("1 session stopped, 1 process ended, pen empty, 1 gone already, 1 session still alive with 2 processes, 1 session could not be asked to stop, 5 ms");
  expect(outcome([failed], 5).tone).toBe("warn");
  expect(outcome([told("already_gone", null)], 5).text).toBe("It was gone already, 1 ms");
});

test("the grace is the session's own unless another is asked for", () => {
  expect(request({ kind: "own" })).toEqual({ by: "dashboard" });
  expect(request({ kind: "seconds", seconds: 0 })).toEqual({ by: "dashboard", grace_ms: 0 });
  expect(request({ kind: "now" })).toEqual({ by: "dashboard", now: true });
});

test("who is not known to resist may still end, while there is time", () => {
  const answer = (result: string, survivors: unknown[]) => ({ result, survivors }) as never;
  expect(isOpen(answer("still_alive", []), 1)).toBe(true);
  expect(isOpen(answer("still_alive", []), 0)).toBe(false);
  expect(isOpen(answer("still_alive", [{ pid: 1 }]), 1)).toBe(false);
  expect(isOpen(answer("stopped", []), 1)).toBe(false);
});

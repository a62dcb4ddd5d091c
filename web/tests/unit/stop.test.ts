import { expect, test } from "@playwright/test";

import { isOpen, outcome, type Progress, request } from "../../src/actions/stop.ts";

const answered = (result: string, processes: number | null, survivors: number = 0, took_ms = 1): { processes: number | null; progress: Progress } => ({
  processes,
  progress: { state: "answered", answer: { result, session: { pen: "subtree" }, survivors: Array(survivors).fill({ pid: 1, name: "x", why: "y" }), took_ms } as never },
});
const failed = { processes: 1, progress: { state: "failed", error: new Error("no") } as Progress };

test("summarizes a stop in one line", () => {
  expect(outcome([answered("stopped", 10), answered("stopped", 3), answered("stopped", 1)], 300)).toEqual({
    tone: "good", text: "3 sessions stopped, 14 processes ended, pens empty, 300 ms",
  });
  expect(outcome([answered("stopped", 1, 0, 1500)], 1600).text).toBe("1 session stopped, 1 process ended, pen empty, 1.5 s");
});

test("omits the number of processes if it is unknown", () => {
  expect(outcome([answered("stopped", 3), answered("stopped", null)], 5).text).toBe("2 sessions stopped, pens empty, 5 ms");
});

test("reports survivors and failures", () => {
  const result = outcome([answered("stopped", 1), answered("still_alive", 4, 2), answered("already_gone", null), failed], 5);
  expect(result.tone).toBe("bad");
  expect(result.text).toBe("1 session stopped, 1 process ended, pen empty, 1 already ended, 1 session still alive with 2 processes, 1 session could not be stopped, 5 ms");
  expect(outcome([failed], 5).tone).toBe("warn");
  expect(outcome([answered("already_gone", null)], 5).text).toBe("The session had already ended, 1 ms");
});

test("uses the session’s grace period by default", () => {
  expect(request({ kind: "own" })).toEqual({ by: "dashboard" });
  expect(request({ kind: "seconds", seconds: 0 })).toEqual({ by: "dashboard", grace_ms: 0 });
  expect(request({ kind: "now" })).toEqual({ by: "dashboard", now: true });
});

test("keeps waiting while no survivor is known and time is left", () => {
  const answer = (result: string, survivors: unknown[]) => ({ result, survivors }) as never;
  expect(isOpen(answer("still_alive", []), 1)).toBe(true);
  expect(isOpen(answer("still_alive", []), 0)).toBe(false);
  expect(isOpen(answer("still_alive", [{ pid: 1 }]), 1)).toBe(false);
  expect(isOpen(answer("stopped", []), 1)).toBe(false);
});

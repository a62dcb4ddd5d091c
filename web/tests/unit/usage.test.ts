import { expect, test } from "@playwright/test";

import { added, adjustedToClock, KEPT, percentNow, percents, type Sample } from "../../src/state/samples.ts";
import { line } from "../../src/ui/spark.ts";

const sample = (at_ms: number, cpu_ms: number): Sample => ({ at_ms, cpu_ms, memory_bytes: 1, processes: 1 });

test("calculates CPU usage between samples", () => {
  expect(percents([sample(0, 0), sample(2000, 1000), sample(4000, 1000), sample(6000, 5000)])).toEqual([50, 0, 200]);
  expect(percentNow([sample(0, 0)])).toBeNull();
  expect(percentNow([])).toBeNull();
});

test("counts decreasing CPU time and a stopped clock as 0", () => {
  expect(percents([sample(0, 900), sample(1000, 10), sample(1000, 20)])).toEqual([0, 0]);
});

test("keeps a limited number of samples in order", () => {
  let all: readonly Sample[] = [];
  for (let at = 0; at < KEPT + 10; at += 1) all = added(all, sample(at, at));
  expect(all).toHaveLength(KEPT);
  expect(all.at(-1)?.at_ms).toBe(KEPT + 9);
  expect(added([sample(5, 1), sample(9, 2)], sample(7, 3)).map((one) => one.at_ms)).toEqual([5, 7]);
});

test("shifts samples of a clock that is ahead", () => {
  expect(adjustedToClock([sample(100, 1), sample(200, 2)], 150).map((one) => one.at_ms)).toEqual([49, 149]);
  expect(adjustedToClock([sample(100, 1)], 150).map((one) => one.at_ms)).toEqual([100]);
  expect(adjustedToClock([], 1)).toEqual([]);
});

test("a sparkline ends at the right edge", () => {
  expect(line([0, 100], 100, 3, 64, 18)).toBe("M32 17L64 1");
  expect(line([50, 500], 100, 2, 64, 18)).toBe("M0 9L64 1");
  expect(line([1, 1], 0, 2, 64, 18)).toBe("M0 17L64 17");
});

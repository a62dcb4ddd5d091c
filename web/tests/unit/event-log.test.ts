import { expect, test } from "@playwright/test";

import type { EventView } from "../../src/api/types.ts";
import { Log, MAX_ENTRIES } from "../../src/pages/events/log.ts";

function event(seq: number, time = `t${seq}`): EventView {
  return { seq, time, session: null, kind: "running", cause: "", by: null };
}

function events(from: number, to: number): EventView[] {
  return Array.from({ length: to - from + 1 }, (_, at) => event(from + at));
}

const numbers = (log: Log) => log.entries.map((it) => (it.event ? it.seq : "missing"));

test("keeps duplicate events once", () => {
  const log = Log.fromTail(events(1, 3), 500).with(events(2, 5)).with(events(4, 5));
  expect(numbers(log)).toEqual([1, 2, 3, 4, 5]);
  expect([log.low, log.high]).toEqual([1, 5]);
});

test("marks a gap", () => {
  const log = Log.fromTail(events(1, 3), 500).with(events(7, 8));
  expect(numbers(log)).toEqual([1, 2, 3, "missing", 7, 8]);
  expect(log.entries[3]).toMatchObject({ text: "Events 4 to 6 are no longer kept" });
});

test("marks a dropped beginning", () => {
  expect(numbers(Log.fromTail(events(40, 41), 500))).toEqual(["missing", 40, 41]);
  const log = Log.fromTail(events(601, 1100), 500);
  expect(log.low).toBe(601);
  const older = log.withOlder(events(301, 600), 101, true);
  expect(older.low).toBe(1);
  expect(older.entries[0]).toMatchObject({ text: "Events 1 to 300 are no longer kept" });
  expect(numbers(older).slice(1, 3)).toEqual([301, 302]);
});

test("filtered older events leave no gap marks", () => {
  const log = Log.fromTail(events(601, 1100), 500).withOlder([event(150), event(400)], 101, false);
  expect(numbers(log).slice(0, 3)).toEqual([150, 400, 601]);
  expect(log.low).toBe(101);
});

test("drops the oldest events", () => {
  let log = Log.fromTail(events(1, 500), 500);
  for (let at = 501; at < 2 * MAX_ENTRIES; at += 100) log = log.with(events(at, at + 99));
  expect(log.entries).toHaveLength(MAX_ENTRIES);
  expect(log.low).toBe(log.entries[0]?.seq);
  expect(log.high - log.low).toBe(MAX_ENTRIES - 1);
});

test("detects events of another log", () => {
  const log = Log.fromTail(events(1, 3), 500);
  expect(log.contradicts(event(3))).toBe(false);
  expect(log.contradicts(event(4))).toBe(false);
  expect(log.contradicts(event(3, "another"))).toBe(true);
});

import { expect, test } from "@playwright/test";

import { advance, type Course, isAtWork, NOTHING } from "../../src/answer/course.ts";

function told(course: Course, ...events: object[]): Course {
  return advance(course, events.map((event) => ({ kind: "event" in event ? String(event.event) : "", data: JSON.stringify(event), id: null })));
}

test("pieces of a text are one, and a tool parts two", () => {
  let course = told(NOTHING, { event: "text", text: "a" }, { event: "text", text: "b" });
  course = told(course, { event: "text", text: "c" }, { event: "tool_began", id: "1", name: "Bash", about: "make" }, { event: "text", text: "d" });
  expect(course.parts.map((part) => ("text" in part ? part.text : part.kind))).toEqual(["abc", "tool", "d"]);
});

test("a tool ends by its id, and is at work only while it is the last", () => {
  let course = told(NOTHING, { event: "tool_began", id: "1", name: "A", about: "" }, { event: "tool_began", id: "2", name: "B", about: "" });
  expect([isAtWork(course, 0), isAtWork(course, 1)]).toEqual([false, true]);
  course = told(course, { event: "tool_ended", id: "1", failed: true }, { event: "tool_ended", id: "2", failed: false }, { event: "tool_ended", id: "9", failed: false });
  expect(course.parts.map((part) => part.kind === "tool" && part.state)).toEqual(["failed", "done"]);
  expect(isAtWork(course, 1)).toBe(false);
});

test("what is endless is bounded, and says so", () => {
  let course: Course = NOTHING;
  for (let round = 0; round < 20; round += 1) {
    course = told(course, ...Array.from({ length: 200 }, (_, at) => ({ event: "notice", text: `${round}.${at}` })));
  }
  expect(course.parts.length).toBe(1500);
  expect(course.left).toBe(2500);
  expect(course.parts.at(-1)).toEqual({ kind: "notice", text: "19.199" });
  const long = told(NOTHING, ...Array.from({ length: 5 }, () => ({ event: "text", text: "x".repeat(100_000) })));
  expect(long.parts[0]?.kind === "text" && long.parts[0].text.length).toBeLessThan(400_010);
});

test("the verdict is the last word", () => {
  const course = advance(NOTHING, [{ kind: "verdict", data: '{"verdict":"auth","evidence":"401"}', id: "x:verdict" }]);
  expect(course.verdict?.verdict).toBe("auth");
  expect(NOTHING.parts).toEqual([]);
});

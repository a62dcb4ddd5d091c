import { expect, test } from "@playwright/test";

import { advance, type Transcript, isRunning, EMPTY_TRANSCRIPT } from "../../src/answer/transcript.ts";

function apply(transcript: Transcript, ...events: object[]): Transcript {
  return advance(transcript, events.map((event) => ({ kind: "event" in event ? String(event.event) : "", data: JSON.stringify(event), id: null })));
}

test("joins text pieces until a tool call", () => {
  let transcript = apply(EMPTY_TRANSCRIPT, { event: "text", text: "a" }, { event: "text", text: "b" });
  transcript = apply(transcript, { event: "text", text: "c" }, { event: "tool_began", id: "1", name: "Bash", about: "make" }, { event: "text", text: "d" });
  expect(transcript.parts.map((part) => ("text" in part ? part.text : part.kind))).toEqual(["abc", "tool", "d"]);
});

test("a tool ends by its id, and runs only while it is the last part", () => {
  let transcript = apply(EMPTY_TRANSCRIPT, { event: "tool_began", id: "1", name: "A", about: "" }, { event: "tool_began", id: "2", name: "B", about: "" });
  expect([isRunning(transcript, 0), isRunning(transcript, 1)]).toEqual([false, true]);
  transcript = apply(transcript, { event: "tool_ended", id: "1", failed: true }, { event: "tool_ended", id: "2", failed: false }, { event: "tool_ended", id: "9", failed: false });
  expect(transcript.parts.map((part) => part.kind === "tool" && part.state)).toEqual(["failed", "done"]);
  expect(isRunning(transcript, 1)).toBe(false);
});

test("bounds the number of parts and counts dropped ones", () => {
  let transcript: Transcript = EMPTY_TRANSCRIPT;
  for (let round = 0; round < 20; round += 1) {
    transcript = apply(transcript, ...Array.from({ length: 200 }, (_, at) => ({ event: "notice", text: `${round}.${at}` })));
  }
  expect(transcript.parts.length).toBe(1500);
  expect(transcript.dropped).toBe(2500);
  expect(transcript.parts.at(-1)).toEqual({ kind: "notice", text: "19.199" });
  const long = apply(EMPTY_TRANSCRIPT, ...Array.from({ length: 5 }, () => ({ event: "text", text: "x".repeat(100_000) })));
  expect(long.parts[0]?.kind === "text" && long.parts[0].text.length).toBeLessThan(400_010);
});

test("stores the verdict", () => {
  const transcript = advance(EMPTY_TRANSCRIPT, [{ kind: "verdict", data: '{"verdict":"auth","evidence":"401"}', id: "x:verdict" }]);
  expect(transcript.verdict?.verdict).toBe("auth");
  expect(EMPTY_TRANSCRIPT.parts).toEqual([]);
});

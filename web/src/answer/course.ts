/** What an agent does on its way to an answer, put together from the events that tell it. */
import type { Frame } from "../api/frames.ts";
import type { AnswerView, Usage } from "../api/types.ts";

/** A part of it, in its order. */
export type Part =
  | { kind: "attempt"; number: number; launch: string }
  | { kind: "text"; text: string }
  | { kind: "thinking"; text: string }
  | { kind: "tool"; id: string; name: string; about: string; state: "began" | "done" | "failed" }
  | { kind: "retrying"; why: string; afterMs: number | null }
  | { kind: "notice"; text: string };

export interface Course {
  parts: readonly Part[];
  /** How many were left out since there are too many. */
  left: number;
  usage: Usage | null;
  conversation: string | null;
  verdict: AnswerView | null;
}

export const NOTHING: Course = { parts: [], left: 0, usage: null, conversation: null, verdict: null };

/** More are not kept for one answer; the session's output has all. */
const MOST_PARTS = 1500;
/** More characters are not shown of one part. */
const MOST_TEXT = 400_000;

type Doing =
  | { event: "attempt"; launch: string; attempt: number }
  | { event: "conversation"; id: string }
  | { event: "text" | "thinking" | "notice"; text: string }
  | { event: "tool_began"; id: string; name: string; about: string }
  | { event: "tool_ended"; id: string; failed: boolean }
  | { event: "usage"; usage: Usage }
  | { event: "retrying"; why: string; after_ms: number | null };

/** Goes on with what was told since. */
export function advance(course: Course, frames: readonly Frame[]): Course {
  const next = { ...course, parts: [...course.parts] };
  for (const frame of frames) {
    if (frame.kind === "verdict") next.verdict = JSON.parse(frame.data) as AnswerView;
    else take(next, next.parts, JSON.parse(frame.data) as Doing);
  }
  const surplus = next.parts.length - MOST_PARTS;
  if (surplus > 0) {
    next.parts.splice(0, surplus);
    next.left += surplus;
  }
  return next;
}

function take(course: Course, parts: Part[], doing: Doing): void {
  switch (doing.event) {
    case "attempt":
      parts.push({ kind: "attempt", number: doing.attempt, launch: doing.launch });
      break;
    case "conversation":
      course.conversation = doing.id;
      break;
    case "usage":
      course.usage = doing.usage;
      break;
    case "text":
      goOn(parts, "text", doing.text);
      break;
    case "thinking":
      goOn(parts, "thinking", doing.text);
      break;
    case "notice":
      parts.push({ kind: "notice", text: bounded(doing.text) });
      break;
    case "retrying":
      parts.push({ kind: "retrying", why: doing.why, afterMs: doing.after_ms });
      break;
    case "tool_began":
      parts.push({ kind: "tool", id: doing.id, name: doing.name, about: doing.about, state: "began" });
      break;
    case "tool_ended":
      endTool(parts, doing.id, doing.failed);
  }
}

/** Pieces that come one after the other are one text. */
function goOn(parts: Part[], kind: "text" | "thinking", text: string): void {
  const last = parts.at(-1);
  if (last?.kind === kind) parts[parts.length - 1] = { kind, text: bounded(last.text + text) };
  else parts.push({ kind, text: bounded(text) });
}

function endTool(parts: Part[], id: string, failed: boolean): void {
  const at = parts.findLastIndex((part) => part.kind === "tool" && part.id === id && part.state === "began");
  const tool = parts[at];
  if (tool?.kind === "tool") parts[at] = { ...tool, state: failed ? "failed" : "done" };
}

function bounded(text: string): string {
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}\n[…]` : text;
}

/** Whether a tool may still be at work: it has begun, and no end was told, nor anything after it. */
export function isAtWork(course: Course, at: number): boolean {
  const part = course.parts[at];
  return part?.kind === "tool" && part.state === "began" && course.verdict === null && at === course.parts.length - 1;
}

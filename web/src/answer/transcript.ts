/** The transcript of a prompt: the agent’s steps and its answer, built from the answer stream. */
import type { Frame } from "../api/frames.ts";
import type { AnswerView, TokenUsage } from "../api/types.ts";

/** One step of the transcript. */
export type Part =
  | { kind: "attempt"; number: number; launch: string }
  | { kind: "text"; text: string }
  | { kind: "thinking"; text: string }
  | { kind: "tool"; id: string; name: string; about: string; state: "began" | "done" | "failed" }
  | { kind: "retrying"; why: string; afterMs: number | null }
  | { kind: "notice"; text: string };

export interface Transcript {
  parts: readonly Part[];
  /** How many early parts were dropped because there are too many. */
  dropped: number;
  usage: TokenUsage | null;
  conversation: string | null;
  verdict: AnswerView | null;
}

export const EMPTY_TRANSCRIPT: Transcript = { parts: [], dropped: 0, usage: null, conversation: null, verdict: null };

/** The session’s output has the parts that are dropped here. */
const MAX_PARTS = 1500;
const MAX_TEXT = 400_000;

type AgentEvent =
  | { event: "attempt"; launch: string; attempt: number }
  | { event: "conversation"; id: string }
  | { event: "text" | "thinking" | "notice"; text: string }
  | { event: "tool_began"; id: string; name: string; about: string }
  | { event: "tool_ended"; id: string; failed: boolean }
  | { event: "usage"; usage: TokenUsage }
  | { event: "retrying"; why: string; after_ms: number | null };

/** Returns the transcript with more events applied. */
export function advance(transcript: Transcript, frames: readonly Frame[]): Transcript {
  const next = { ...transcript, parts: [...transcript.parts] };
  for (const frame of frames) {
    if (frame.kind === "verdict") next.verdict = JSON.parse(frame.data) as AnswerView;
    else take(next, next.parts, JSON.parse(frame.data) as AgentEvent);
  }
  const surplus = next.parts.length - MAX_PARTS;
  if (surplus > 0) {
    next.parts.splice(0, surplus);
    next.dropped += surplus;
  }
  return next;
}

function take(transcript: Transcript, parts: Part[], event: AgentEvent): void {
  switch (event.event) {
    case "attempt":
      parts.push({ kind: "attempt", number: event.attempt, launch: event.launch });
      break;
    case "conversation":
      transcript.conversation = event.id;
      break;
    case "usage":
      transcript.usage = event.usage;
      break;
    case "text":
      appendText(parts, "text", event.text);
      break;
    case "thinking":
      appendText(parts, "thinking", event.text);
      break;
    case "notice":
      parts.push({ kind: "notice", text: bounded(event.text) });
      break;
    case "retrying":
      parts.push({ kind: "retrying", why: event.why, afterMs: event.after_ms });
      break;
    case "tool_began":
      parts.push({ kind: "tool", id: event.id, name: event.name, about: event.about, state: "began" });
      break;
    case "tool_ended":
      endTool(parts, event.id, event.failed);
  }
}

/** Adds text to the last part if it has the same kind, else starts a new part. */
function appendText(parts: Part[], kind: "text" | "thinking", text: string): void {
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
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n[…]` : text;
}

/** Whether a tool may still be running: it has started, has not ended, and is the last part. */
export function isRunning(transcript: Transcript, at: number): boolean {
  const part = transcript.parts[at];
  return part?.kind === "tool" && part.state === "began" && transcript.verdict === null && at === transcript.parts.length - 1;
}

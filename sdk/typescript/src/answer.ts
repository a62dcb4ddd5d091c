import type { AnswerView, TokenUsage } from "./generated.js";
import { follow } from "./sse.js";
import { pathOf, type Transport } from "./transport.js";

/** The outcome of a prompt. It has an answer if the `verdict` is `succeeded`. */
export type Answer = AnswerView;

/** One step of an agent; the last one is the verdict. */
export type AnswerPart =
  | { event: "attempt"; session: string; launch: string; attempt: number }
  | { event: "conversation"; id: string }
  | { event: "text"; text: string }
  | { event: "thinking"; text: string }
  | { event: "tool_began"; id: string; name: string; about: string }
  | { event: "tool_ended"; id: string; failed: boolean }
  | { event: "usage"; usage: TokenUsage }
  | { event: "retrying"; why: string; after_ms: number | null }
  | { event: "notice"; text: string }
  | ({ event: "verdict" } & Answer);

/** Waits for the answer of a prompt. */
export async function readAnswer(transport: Transport, reference: string, signal?: AbortSignal): Promise<Answer> {
  return transport.call("getAnswer", { path: { reference }, query: { wait: true }, signal });
}

/** Streams the steps of an agent, across daemon restarts. */
export async function* streamAnswer(
  transport: Transport,
  reference: string,
  signal?: AbortSignal,
): AsyncGenerator<AnswerPart, void> {
  const request = { method: "GET", path: pathOf("getAnswer", { reference }), signal };
  const isLast = ({ event }: { event: string }) => event === "verdict";
  for await (const { event, data } of follow(transport, request, { isLast, endless: true })) {
    // The name in the data wins: two kinds may share one event name.
    yield { event, ...(JSON.parse(data) as object) } as AnswerPart;
  }
}

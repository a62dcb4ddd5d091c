import type { AnswerView, Usage } from "./generated.js";
import { follow } from "./sse.js";
import { pathOf, type Transport } from "./transport.js";

/** What became of a prompt; there is an answer if the `verdict` is `succeeded`. */
export type Answer = AnswerView;

/** Something that an agent does on its way to an answer; the verdict is the last. */
export type AnswerPart =
  | { event: "attempt"; session: string; launch: string; attempt: number }
  | { event: "conversation"; id: string }
  | { event: "text"; text: string }
  | { event: "thinking"; text: string }
  | { event: "tool_began"; id: string; name: string; about: string }
  | { event: "tool_ended"; id: string; failed: boolean }
  | { event: "usage"; usage: Usage }
  | { event: "retrying"; why: string; after_ms: number | null }
  | { event: "notice"; text: string }
  | ({ event: "verdict" } & Answer);

/** Waits for the answer. */
export async function readAnswer(transport: Transport, reference: string, signal?: AbortSignal): Promise<Answer> {
  return transport.call("getAnswer", { path: { reference }, query: { wait: true }, signal });
}

/** What its agent does, as it does it; goes on if the daemon is restarted. */
export async function* streamAnswer(
  transport: Transport,
  reference: string,
  signal?: AbortSignal,
): AsyncGenerator<AnswerPart, void> {
  const asked = { method: "GET", path: pathOf("getAnswer", { reference }), signal };
  const isLast = ({ event }: { event: string }) => event === "verdict";
  for await (const { event, data } of follow(transport, asked, { isLast, endless: true })) {
    // A name of its own goes before that of the event: two kinds may share one.
    yield { event, ...(JSON.parse(data) as object) } as AnswerPart;
  }
}

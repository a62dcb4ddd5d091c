import { follow } from "./sse.js";
import { pathOf, type Transport } from "./transport.js";

/** Which output. */
export interface OutputOptions {
  /** Goes on as it is printed, until the session's launch has ended. */
  follow?: boolean | undefined;
  /** Both if not said. A terminal has one, which counts as standard output. */
  stream?: "stdout" | "stderr" | undefined;
  /** The first byte. */
  from?: number | undefined;
  /** The byte after the last. */
  to?: number | undefined;
  /** Only the last lines. */
  tail?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Something that was printed; or, if `gap` is set, something that was and is lost. */
export interface OutputChunk {
  /** Where it begins. */
  offset: number;
  /** When it was printed: RFC 3339. None for a gap. */
  time: string | null;
  stream: "stdout" | "stderr" | "terminal";
  /** As it was printed. */
  bytes: Buffer;
  /** The same as text; what is no UTF-8 is replaced. */
  text: string;
  /** Output is missing here: how much, if anybody knows, and why. */
  gap: { lost: number | null; why: string; text: string } | null;
}

type Told =
  | { type: "output"; offset: number; time: string; stream: OutputChunk["stream"]; text?: string; hex?: string }
  | { type: "gap"; offset: number; lost: number | null; why: string; text: string }
  | { type: "end" };

/** Reads the output of a session. It is read as fast as it is taken, and goes on if the daemon is restarted. */
export async function* readOutput(
  transport: Transport,
  reference: string,
  options: OutputOptions = {},
): AsyncGenerator<OutputChunk, void> {
  const { follow: live = false, stream, from, to, tail, signal } = options;
  const query = { follow: live, stream, from, to, tail };
  const asked = { method: "GET", path: pathOf("readOutput", { reference }), query, signal };
  const how = { isLast: ({ event }: { event: string }) => event === "end", endless: live && to === undefined };
  for await (const { data } of follow(transport, asked, how)) {
    const told = JSON.parse(data) as Told;
    if (told.type === "output") yield printed(told);
    if (told.type === "gap") {
      const { offset, lost, why, text } = told;
      yield { offset, time: null, stream: "stdout", bytes: Buffer.alloc(0), text: "", gap: { lost, why, text } };
    }
  }
}

function printed(told: Told & { type: "output" }): OutputChunk {
  const { offset, time, stream } = told;
  const bytes = told.hex === undefined ? Buffer.from(told.text ?? "") : Buffer.from(told.hex, "hex");
  return { offset, time, stream, bytes, text: told.text ?? bytes.toString(), gap: null };
}

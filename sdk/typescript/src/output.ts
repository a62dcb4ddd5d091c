import { follow } from "./sse.js";
import { pathOf, type Transport } from "./transport.js";

/** Selects output. */
export interface OutputOptions {
  /** Follow new output until the launch ends. */
  follow?: boolean | undefined;
  /** Default: both. The output of a terminal counts as standard output. */
  stream?: "stdout" | "stderr" | undefined;
  /** The offset of the first byte. */
  from?: number | undefined;
  /** The offset after the last byte. */
  to?: number | undefined;
  /** Only the last lines. */
  tail?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** A piece of output, or missing output if `gap` is set. */
export interface OutputChunk {
  /** The offset of its first byte. */
  offset: number;
  /** When it was printed (RFC 3339); null for a gap. */
  time: string | null;
  stream: "stdout" | "stderr" | "terminal";
  /** The raw bytes. */
  bytes: Buffer;
  /** The bytes as text; invalid UTF-8 is replaced. */
  text: string;
  /** Missing output: the number of bytes, if known, and the reason. */
  gap: { lost: number | null; why: string; text: string } | null;
}

type OutputRecord =
  | { type: "output"; offset: number; time: string; stream: OutputChunk["stream"]; text?: string; hex?: string }
  | { type: "gap"; offset: number; lost: number | null; why: string; text: string }
  | { type: "end" };

/** Reads the output of a session with backpressure, across daemon restarts. */
export async function* readOutput(
  transport: Transport,
  reference: string,
  options: OutputOptions = {},
): AsyncGenerator<OutputChunk, void> {
  const { follow: live = false, stream, from, to, tail, signal } = options;
  const query = { follow: live, stream, from, to, tail };
  const request = { method: "GET", path: pathOf("readOutput", { reference }), query, signal };
  const mode = { isLast: ({ event }: { event: string }) => event === "end", endless: live && to === undefined };
  for await (const { data } of follow(transport, request, mode)) {
    const record = JSON.parse(data) as OutputRecord;
    if (record.type === "output") yield toChunk(record);
    if (record.type === "gap") {
      const { offset, lost, why, text } = record;
      yield { offset, time: null, stream: "stdout", bytes: Buffer.alloc(0), text: "", gap: { lost, why, text } };
    }
  }
}

function toChunk(record: OutputRecord & { type: "output" }): OutputChunk {
  const { offset, time, stream } = record;
  const bytes = record.hex === undefined ? Buffer.from(record.text ?? "") : Buffer.from(record.hex, "hex");
  return { offset, time, stream, bytes, text: record.text ?? bytes.toString(), gap: null };
}

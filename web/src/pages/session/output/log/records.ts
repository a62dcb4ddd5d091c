/** The records of a session’s output, and requests for parts of it. */
import { ask, query, ApiError, segment } from "../../../../api/http.ts";
import type { End } from "../outcome.ts";

export interface OutputRecord {
  type: "output";
  offset: number;
  time: string;
  stream: "stdout" | "stderr" | "terminal";
  text?: string;
  /** Output that is not UTF-8. */
  hex?: string;
}

export interface GapRecord {
  type: "gap";
  offset: number;
  lost: number | null;
  why: string;
  text: string;
}

export type EndRecord = End & { type: "end" };
export type StreamRecord = OutputRecord | GapRecord | EndRecord;

/** A part of the output. */
export interface Part {
  /** The offset where the part starts; later than requested if the daemon has dropped output. */
  from: number;
  records: (OutputRecord | GapRecord)[];
}

export interface Range {
  from?: number;
  to?: number;
  tail?: number;
}

/** Returns the API path of a launch’s output. */
export function outputPath(launch: string, params: Record<string, string | number | boolean | undefined>): string {
  return `/v1/sessions/${segment(launch)}/output${query(params)}`;
}

/** Fetches a part. Retries while the daemon is down. */
export async function part(launch: string, range: Range, signal: AbortSignal): Promise<Part> {
  const path = outputPath(launch, { ...range, format: "ndjson" });
  const response = await retryTransient(() => ask("GET", path, { signal, accept: "application/x-ndjson" }), signal);
  const from = Number(response.headers.get("Kennel-Output-From") ?? 0);
  const lines = (await response.text()).split("\n");
  signal.throwIfAborted();
  return { from, records: lines.filter(Boolean).map((line) => JSON.parse(line) as OutputRecord | GapRecord) };
}

/** Returns the offset of the first recorded byte and the offset after the last one. */
export async function bounds(launch: string, signal: AbortSignal): Promise<{ start: number; end: number }> {
  const [first, last] = await Promise.all([part(launch, { from: 0, to: 0 }, signal), part(launch, { tail: 0 }, signal)]);
  return { start: first.from, end: Math.max(first.from, last.from) };
}

/** Returns the offset after these records; null if there are none. */
export function endOf(records: readonly (OutputRecord | GapRecord)[]): number | null {
  const last = records.at(-1);
  if (!last) return null;
  return last.offset + (last.type === "gap" ? (last.lost ?? 0) : bytesOf(last));
}

export function bytesOf(record: OutputRecord): number {
  return record.hex !== undefined ? record.hex.length / 2 : utf8Length(record.text ?? "");
}

/** Returns the length of a text in UTF-8 bytes. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80) continue;
    // Each half of a surrogate pair counts for two of the four bytes.
    length += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return length;
}

export function unhex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2000;

async function retryTransient<T>(once: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pause = FIRST_RETRY_MS; ; pause = Math.min(2 * pause, MAX_RETRY_MS)) {
    try {
      return await once();
    } catch (error) {
      const isTransient = error instanceof ApiError && (error.isTransient || error.status === 429 || error.status === 502);
      if (!isTransient || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Joins output records into lines. */
import { after, PLAIN, type Style } from "../ansi.ts";
import { type GapRecord, type OutputRecord, unhex, utf8Length } from "./records.ts";

/** A line, or a part of a line that is too long or was interrupted by the other stream. */
export interface Line {
  kind: "line";
  /** The offset of its first byte. */
  offset: number;
  /** In bytes, including the line end. */
  length: number;
  time: string;
  isError: boolean;
  /** Without the line end, but with control sequences. */
  text: string;
  /** The style that earlier lines have set. */
  style: Style;
  /** Whether it starts in the middle of a line. */
  continues: boolean;
  /** Whether the line continues after it. */
  isUnfinished: boolean;
}

/** Missing output. */
export interface Gap {
  kind: "gap";
  offset: number;
  /** The offset where output continues. */
  next: number;
  /** In bytes; null if unknown. */
  lost: number | null;
  text: string;
}

export type Item = Line | Gap;

/** Longer lines are split, so that a line of a gigabyte can’t freeze the page. */
export const MAX_LENGTH = 32 * 1024;

export class Lines {
  #style: Style;
  #open: Line | null = null;
  /** The streams with an unfinished line; true is standard error. */
  #within = new Set<boolean>();
  /** Whether the first record starts in the middle of a line. */
  #cut: boolean;

  constructor(style: Style = PLAIN, cut = false) {
    this.#style = style;
    this.#cut = cut;
  }

  /** Adds a record and returns the items that are now complete. */
  push(record: OutputRecord | GapRecord): Item[] {
    const whole: Item[] = [];
    if (record.type === "gap") {
      this.#end(whole, false);
      this.#cut = false;
      this.#within.clear();
      // The daemon drops the oldest output, so everything before the gap is missing, too.
      const lost = record.why === "dropped" && record.lost !== null ? record.offset + record.lost : record.lost;
      whole.push({ kind: "gap", offset: record.offset, next: record.offset + (record.lost ?? 0), lost, text: record.text });
      return whole;
    }
    const isError = record.stream === "stderr";
    // A line that the other stream interrupts continues after it.
    if (this.#open && this.#open.isError !== isError) this.#end(whole, true);
    let offset = record.offset;
    for (const { text, length, ends } of pieces(record)) {
      this.#add(text, length, offset, record.time, isError, whole);
      if (ends) this.#end(whole, false);
      offset += length;
    }
    return whole;
  }

  /** The line without a line end yet. */
  get open(): Line | null {
    return this.#open;
  }

  #add(text: string, length: number, offset: number, time: string, isError: boolean, whole: Item[]): void {
    let [rest, bytes, at] = [text, length, offset];
    for (;;) {
      this.#open ??= {
        kind: "line", offset: at, length: 0, time, isError, text: "", style: this.#style, continues: this.#continues(isError), isUnfinished: true,
      };
      const room = MAX_LENGTH - this.#open.text.length;
      if (rest.length <= room) break;
      const cut = /[\ud800-\udbff]/.test(rest[room - 1] ?? "") ? room - 1 : room;
      const piece = rest.slice(0, cut);
      const taken = Math.min(bytes, utf8Length(piece));
      this.#open = { ...this.#open, text: this.#open.text + piece, length: this.#open.length + taken };
      this.#end(whole, true);
      [rest, bytes, at] = [rest.slice(cut), bytes - taken, at + taken];
    }
    this.#open = { ...this.#open, text: this.#open.text + rest, length: this.#open.length + bytes };
  }

  #end(whole: Item[], isUnfinished: boolean): void {
    if (this.#open) {
      whole.push({ ...this.#open, isUnfinished });
      this.#style = after(this.#open.text, this.#style);
      if (isUnfinished) this.#within.add(this.#open.isError);
    }
    this.#open = null;
  }

  #continues(isError: boolean): boolean {
    const continues = this.#within.delete(isError) || this.#cut;
    this.#cut = false;
    return continues;
  }
}

/** Splits a record at line ends. The text excludes them, the length in bytes includes them. */
function* pieces(record: OutputRecord): Generator<{ text: string; length: number; ends: boolean }> {
  if (record.hex !== undefined) {
    const bytes = unhex(record.hex);
    const decoder = new TextDecoder();
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(10, at);
      const to = end < 0 ? bytes.length : end;
      yield { text: decoder.decode(bytes.subarray(at, to)), length: to - at + (end < 0 ? 0 : 1), ends: end >= 0 };
      at = to + 1;
    }
    return;
  }
  const text = record.text ?? "";
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const piece = text.slice(at, end < 0 ? text.length : end);
    yield { text: piece, length: utf8Length(piece) + (end < 0 ? 0 : 1), ends: end >= 0 };
    at += piece.length + 1;
  }
}

/** Returns the items of a part. If it is `cut` (it starts in the middle of a line), leaves that line out when another follows. */
export function itemsOf(records: readonly (OutputRecord | GapRecord)[], cut: boolean, lines: Lines = new Lines(PLAIN, cut)): Item[] {
  const items = records.flatMap((record) => lines.push(record));
  if (!cut) return items;
  const first = items.findIndex((item) => item.kind === "gap" || !item.isUnfinished);
  return first >= 0 && first + 1 < items.length + (lines.open ? 1 : 0) ? items.slice(items[first]?.kind === "gap" ? first : first + 1) : items;
}

/** Puts records together into lines. */
import { after, PLAIN, type Style } from "../ansi.ts";
import { type GapRecord, type OutputRecord, unhex, utf8Length } from "./records.ts";

/** A line, or a part of one that is too long or was interrupted. */
export interface Line {
  kind: "line";
  /** Of its first byte. */
  offset: number;
  /** In bytes, with its end. */
  length: number;
  time: string;
  isError: boolean;
  /** Without its end; sequences of terminals and all. */
  text: string;
  /** What the lines before it leave it with. */
  style: Style;
  /** Whether it begins in the middle of a line. */
  continues: boolean;
  /** Whether the line goes on after it. */
  goesOn: boolean;
}

/** Output is missing here. */
export interface Gap {
  kind: "gap";
  offset: number;
  /** Where it goes on. */
  next: number;
  /** In bytes; null if nobody knows. */
  lost: number | null;
  text: string;
}

export type Item = Line | Gap;

/** Lines are broken after so many characters, so that nothing has to deal with one of a gigabyte. */
export const LONGEST = 32 * 1024;

export class Lines {
  #style: Style;
  #open: Line | null = null;
  /** Of which streams a line goes on: true is standard error. */
  #within = new Set<boolean>();
  /** Whether the first begins in the middle of a line. */
  #cut: boolean;

  constructor(style: Style = PLAIN, cut = false) {
    this.#style = style;
    this.#cut = cut;
  }

  /** What is whole with this record. */
  push(record: OutputRecord | GapRecord): Item[] {
    const whole: Item[] = [];
    if (record.type === "gap") {
      this.#end(whole, false);
      this.#cut = false;
      this.#within.clear();
      // What is dropped is the oldest: whatever was before it is gone too.
      const lost = record.why === "dropped" && record.lost !== null ? record.offset + record.lost : record.lost;
      whole.push({ kind: "gap", offset: record.offset, next: record.offset + (record.lost ?? 0), lost, text: record.text });
      return whole;
    }
    const isError = record.stream === "stderr";
    // A line of one stream that the other interrupts goes on after it.
    if (this.#open && this.#open.isError !== isError) this.#end(whole, true);
    let offset = record.offset;
    for (const { text, length, ends } of pieces(record)) {
      this.#add(text, length, offset, record.time, isError, whole);
      if (ends) this.#end(whole, false);
      offset += length;
    }
    return whole;
  }

  /** The line that has not ended yet. */
  get open(): Line | null {
    return this.#open;
  }

  #add(text: string, length: number, offset: number, time: string, isError: boolean, whole: Item[]): void {
    let [rest, bytes, at] = [text, length, offset];
    for (;;) {
      this.#open ??= {
        kind: "line", offset: at, length: 0, time, isError, text: "", style: this.#style, continues: this.#continues(isError), goesOn: true,
      };
      const room = LONGEST - this.#open.text.length;
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

  #end(whole: Item[], goesOn: boolean): void {
    if (this.#open) {
      whole.push({ ...this.#open, goesOn });
      this.#style = after(this.#open.text, this.#style);
      if (goesOn) this.#within.add(this.#open.isError);
    }
    this.#open = null;
  }

  #continues(isError: boolean): boolean {
    const continues = this.#within.delete(isError) || this.#cut;
    this.#cut = false;
    return continues;
  }
}

/** A record at its ends of lines: text without them, bytes with them. */
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

/** All the items of a part; `cut` says whether it begins in the middle of a line, which is left out if another follows. */
export function itemsOf(records: readonly (OutputRecord | GapRecord)[], cut: boolean, lines: Lines = new Lines(PLAIN, cut)): Item[] {
  const items = records.flatMap((record) => lines.push(record));
  if (!cut) return items;
  const first = items.findIndex((item) => item.kind === "gap" || !item.goesOn);
  return first >= 0 && first + 1 < items.length + (lines.open ? 1 : 0) ? items.slice(items[first]?.kind === "gap" ? first : first + 1) : items;
}

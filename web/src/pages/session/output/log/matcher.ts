/** Finds the lines of the output that contain a text, ignoring case. */
import { plain } from "../ansi.ts";
import { type Item, Lines } from "./lines.ts";
import { type GapRecord, type OutputRecord, utf8Length } from "./records.ts";

export class Matcher {
  readonly #needle: string;
  readonly #lines: Lines;

  constructor(text: string) {
    this.#needle = text.toLowerCase();
    this.#lines = new Lines();
  }

  /** Adds a record and returns the offsets of matching lines that are now complete. */
  push(record: OutputRecord | GapRecord): number[] {
    if (record.type === "gap" || record.text === undefined) return this.#matching(this.#lines.push(record));
    const text = record.text;
    const first = text.indexOf("\n") + 1;
    const last = text.lastIndexOf("\n") + 1;
    // Most records do not match: then only the lines at their edges are joined.
    if (first === last || this.#mayBeIn(text.slice(first, last))) return this.#matching(this.#lines.push(record));
    const before = utf8Length(text.slice(0, last));
    const head = this.#lines.push({ ...record, text: text.slice(0, first) });
    const tail = last < text.length ? this.#lines.push({ ...record, offset: record.offset + before, text: text.slice(last) }) : [];
    return this.#matching([...head, ...tail]);
  }

  /** Returns the unfinished last line, if it matches. */
  rest(): number[] {
    return this.#lines.open ? this.#matching([this.#lines.open]) : [];
  }

  #matching(items: Item[]): number[] {
    return items.flatMap((item) => (item.kind === "line" && this.#isIn(plain(item.text)) ? [item.offset] : []));
  }

  #isIn(text: string): boolean {
    return text.toLowerCase().includes(this.#needle);
  }

  /** Whether a line of the text may match. Control sequences can split a match, so then each line must be checked. */
  #mayBeIn(text: string): boolean {
    return text.includes("\x1b") || this.#isIn(text);
  }
}

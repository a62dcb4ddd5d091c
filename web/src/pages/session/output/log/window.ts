/**
 * A window on the output: some lines of it, next to each other, however much there is in all.
 *
 * ```text
 *   start ───── dropped ─────┬── older() ──┬─ items ─┬── newer() ──┬─ end
 *                            │             └─ shown ─┘             └─ followed, if the window reaches to it
 * ```
 * It moves, and grows at either side by what is asked for; what is too far off on the other side is let go.
 */
import { signal } from "@preact/signals";

import { follow } from "../../../../api/events.ts";
import type { End } from "../outcome.ts";
import { type Item, itemsOf, type Line, Lines } from "./lines.ts";
import { bounds, endOf, type GapRecord, outputPath, type OutputRecord, part, type Told } from "./records.ts";

/** How many bytes are asked for at once. */
const SPAN = 128 * 1024;
/** How many lines come in at once, and the most that are held. */
const STEP = 800;
const MOST = 2400;
/** The most characters that are held. */
const MOST_TEXT = 2 << 20;
/** So much at once is faster than anybody reads: then only the newest is shown. */
const FLOOD = 1 << 20;
const TOGETHER_MS = 40;
const AFTER_FLOOD_MS = 250;

export type Standing = "loading" | "live" | "lost" | "over" | "failed";

export class Window {
  readonly items = signal<readonly Item[]>([]);
  /** The line at the end that may go on. */
  readonly open = signal<Line | null>(null);
  readonly standing = signal<Standing>("loading");
  readonly error = signal<unknown>(null);
  /** Whether there is more on either side. */
  readonly hasOlder = signal(false);
  readonly hasNewer = signal(false);
  readonly start = signal(0);
  /** The offset after the last byte that is known of. */
  readonly end = signal(0);
  readonly ended = signal<End | null | undefined>(undefined);
  /** Whether the end is to be kept in sight. */
  readonly following = signal(true);
  /** Lines that came while it was not. */
  readonly unseen = signal(0);
  /** Whether something was left out because it came too fast. */
  readonly flooded = signal(false);
  /** Where to look, after a jump. */
  readonly target = signal<number | null>(null);

  readonly #launch: string;
  #work = new AbortController();
  #busy = false;
  /** Whether another window is on its way, which will replace this one. */
  #isJumping = false;
  #stop: (() => void) | null = null;
  #lines = new Lines();
  #queue: Told[] = [];
  #queued = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(launch: string) {
    this.#launch = launch;
  }

  close(): void {
    this.#work.abort();
    this.#deafen();
  }

  /** Shows the end, and what comes. */
  async toEnd(): Promise<void> {
    this.following.value = true;
    this.unseen.value = 0;
    await this.#anew(async (signal) => {
      await this.#measure(signal);
      const from = this.#fromOrTop(this.end.value - SPAN);
      const got = await part(this.#launch, { from, tail: STEP }, signal);
      const cut = got.from === from && from > this.start.value;
      this.#lines = new Lines(undefined, cut);
      this.items.value = itemsOf(got.records, cut, this.#lines).slice(-STEP);
      this.open.value = this.#lines.open;
      this.hasOlder.value = this.#top() > this.start.value;
      this.target.value = null;
      this.#listen(endOf(got.records) ?? got.from);
    });
  }

  /** Shows what is at an offset. */
  async to(offset: number): Promise<void> {
    this.following.value = false;
    await this.#anew(async (signal) => {
      await this.#measure(signal);
      const at = Math.min(Math.max(offset, this.start.value), this.end.value);
      const from = this.#fromOrTop(at - SPAN / 2);
      const got = await part(this.#launch, { from, to: at + SPAN / 2 }, signal);
      const cut = from > this.start.value && got.from === from;
      const lines = new Lines(undefined, cut);
      const items = itemsOf(got.records, cut, lines);
      const here = Math.max(0, items.findLastIndex((item) => item.offset <= at));
      const first = Math.max(0, here - STEP / 2);
      const shown = items.slice(first, first + STEP);
      const reached = endOf(got.records) ?? got.from;
      this.items.value = shown;
      this.hasOlder.value = this.#top() > this.start.value;
      this.target.value = items[here]?.offset ?? null;
      this.#reach(reached < at + SPAN / 2 && shown.at(-1) === items.at(-1), lines, reached);
    });
  }

  /** Brings what is at an offset into sight, with no more ado than that takes. */
  show(offset: number): void {
    this.following.value = false;
    const isHeld = !this.#isJumping && this.items.value.some((item) => item.offset === offset);
    if (isHeld) this.target.value = offset;
    else void this.to(offset);
  }

  /** Adds what was before. */
  async older(): Promise<void> {
    if (!this.hasOlder.value) return;
    await this.#more(async (signal) => {
      const to = this.#top();
      const from = Math.max(0, to - SPAN);
      const got = await part(this.#launch, { from, to }, signal);
      const cut = from > 0 && got.from === from;
      const lines = new Lines(undefined, cut);
      const whole = itemsOf(got.records, cut, lines);
      const items = lines.open ? [...whole, lines.open] : whole;
      const added = items.slice(-STEP);
      const kept = fitting(this.items.value, MOST - added.length, MOST_TEXT - size(added));
      if (kept.length < this.items.value.length) this.#letGo();
      this.items.value = [...added, ...kept];
      this.start.value = Math.max(this.start.value, got.from > from ? got.from : 0);
      this.hasOlder.value = added.length > 0 && this.#top() > this.start.value;
    });
  }

  /** Adds what comes after. */
  async newer(): Promise<void> {
    // Who follows is led to the end in a moment: see #flood.
    if (!this.hasNewer.value || this.following.value) return;
    await this.#more(async (signal) => {
      const from = this.#bottom();
      const got = await part(this.#launch, { from, to: from + SPAN }, signal);
      const last = this.items.value.at(-1);
      const lines = new Lines(undefined, last?.kind === "line" && last.goesOn);
      const items = got.records.flatMap((record) => lines.push(record));
      // Of a line that is longer than all of it, what there is.
      const whole = items.length === 0 && lines.open && endOf(got.records) === from + SPAN ? [lines.open] : items;
      const added = whole.slice(0, STEP);
      const kept = fitting([...this.items.value].reverse(), MOST - added.length, MOST_TEXT - size(added)).reverse();
      if (kept.length < this.items.value.length) this.hasOlder.value = true;
      this.items.value = [...kept, ...added];
      const reached = endOf(got.records) ?? from;
      this.end.value = Math.max(this.end.value, reached);
      this.#reach(reached < from + SPAN && added.length === items.length, lines, reached);
    });
  }

  /** Where to ask from; at the top from the very beginning, so that what is missing there is told. */
  #fromOrTop(offset: number): number {
    return offset <= this.start.value ? 0 : offset;
  }

  /** The offset of the first byte that is shown. */
  #top(): number {
    return this.items.value[0]?.offset ?? this.open.value?.offset ?? this.end.value;
  }

  /** Of the first one after what is shown. */
  #bottom(): number {
    const last = this.items.value.at(-1);
    if (!last) return this.start.value;
    return last.kind === "line" ? last.offset + last.length : last.next;
  }

  async #measure(signal: AbortSignal): Promise<void> {
    const { start, end } = await bounds(this.#launch, signal);
    this.start.value = start;
    this.end.value = end;
  }

  /** If the end was reached, hears what follows. */
  #reach(isEnd: boolean, lines: Lines, reached: number): void {
    this.hasNewer.value = !isEnd;
    if (!isEnd) return this.#letGo();
    this.#lines = lines;
    this.open.value = lines.open;
    this.#listen(reached);
  }

  /** The window does not reach to the end any more. */
  #letGo(): void {
    this.#deafen();
    this.open.value = null;
    this.hasNewer.value = true;
    if (this.standing.value !== "failed") this.standing.value = this.ended.value === undefined ? "live" : "over";
  }

  #deafen(): void {
    this.#stop?.();
    this.#stop = null;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue = [];
    this.#queued = 0;
  }

  #listen(from: number): void {
    this.#deafen();
    this.hasNewer.value = false;
    this.standing.value = "live";
    const path = outputPath(this.#launch, { from, follow: true, format: "sse" });
    this.#stop = follow(
      path,
      {
        opened: () => void (this.standing.value = "live"),
        lost: () => void (this.standing.value = "lost"),
        ended: (why) => this.#over(why),
        frames: (frames) => {
          for (const frame of frames) {
            this.#queue.push(JSON.parse(frame.data) as Told);
            this.#queued += frame.data.length;
          }
          if (this.#queued > FLOOD) this.#flood();
          else this.#timer ??= setTimeout(() => this.#take(), TOGETHER_MS);
        },
      },
      "end",
    );
  }

  #over(why: unknown): void {
    this.#take();
    if (why) {
      this.error.value = why;
      this.standing.value = "failed";
    } else {
      this.standing.value = "over";
    }
  }

  /** Leaves out what came too fast; it can be had by scrolling up. */
  #flood(): void {
    this.#letGo();
    this.flooded.value = true;
    if (!this.following.value) return;
    this.#timer = setTimeout(() => this.following.value && void this.toEnd(), AFTER_FLOOD_MS);
  }

  #take(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [told, amount] = [this.#queue, this.#queued];
    this.#queue = [];
    this.#queued = 0;
    if (told.length === 0) return;
    if (amount < FLOOD / 8) this.flooded.value = false;
    const records = told.filter((one) => one.type !== "end") as (OutputRecord | GapRecord)[];
    const added = records.flatMap((record) => this.#lines.push(record));
    const end = told.find((one) => one.type === "end");
    if (end) this.ended.value = end;
    this.end.value = Math.max(this.end.value, endOf(records) ?? 0);
    this.open.value = this.#lines.open;
    if (!this.following.value) this.unseen.value += added.length;
    this.#append(added);
  }

  #append(added: Item[]): void {
    if (added.length === 0) return;
    const all = [...this.items.value, ...added];
    const newest = fitting([...all].reverse(), MOST, MOST_TEXT).reverse();
    if (newest.length === all.length) {
      this.items.value = all;
    } else if (this.following.value) {
      this.items.value = newest;
      this.hasOlder.value = true;
    } else {
      // Somebody reads what would have to go.
      this.items.value = fitting(all, MOST, MOST_TEXT);
      this.#letGo();
    }
  }

  /** Another window: whatever was under way for this one is given up. */
  async #anew(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#work.abort();
    this.#work = new AbortController();
    this.#busy = false;
    this.#isJumping = true;
    this.#deafen();
    const { signal } = this.#work;
    try {
      await work(signal);
    } catch (error) {
      this.#failed(error, signal);
    } finally {
      if (!signal.aborted) this.#isJumping = false;
    }
  }

  async #more(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    const { signal } = this.#work;
    try {
      await work(signal);
    } catch (error) {
      this.#failed(error, signal);
    } finally {
      if (!signal.aborted) this.#busy = false;
    }
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.error.value = error;
    this.standing.value = "failed";
  }
}

function size(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + (item.kind === "line" ? item.text.length : 0), 0);
}

/** As many of the first as there is room for; one at least. */
function fitting(items: readonly Item[], most: number, text: number): Item[] {
  let left = text;
  let count = 0;
  for (const item of items) {
    left -= item.kind === "line" ? item.text.length : 0;
    if (count > 0 && (count >= most || left < 0)) break;
    count += 1;
  }
  return items.slice(0, count);
}

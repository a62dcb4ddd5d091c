/**
 * A window on the output: a range of loaded lines, limited in size no matter how large the whole output is.
 *
 * ```text
 *   start ───── dropped ─────┬── older() ──┬─ items ─┬── newer() ──┬─ end
 *                            │             └─ shown ─┘             └─ followed, if the window reaches it
 * ```
 * The window moves and grows at either end. Lines that are too far away at the other end are dropped.
 */
import { signal } from "@preact/signals";

import { follow } from "../../../../api/events.ts";
import type { End } from "../outcome.ts";
import { type Item, itemsOf, type Line, Lines } from "./lines.ts";
import { bounds, endOf, type GapRecord, outputPath, type OutputRecord, part, type StreamRecord } from "./records.ts";

/** How many bytes are fetched at once. */
const SPAN = 128 * 1024;
/** How many lines are added at once, and the maximum number of loaded lines. */
const STEP = 800;
const MAX_LINES = 2400;
/** The maximum number of loaded characters. */
const MAX_TEXT = 2 << 20;
/** When more than this arrives at once, only the newest output is shown. */
const FLOOD = 1 << 20;
const BATCH_MS = 40;
const AFTER_FLOOD_MS = 250;

export type LogState = "loading" | "live" | "lost" | "over" | "failed";

export class Window {
  readonly items = signal<readonly Item[]>([]);
  /** The last line, if it has no line end yet. */
  readonly open = signal<Line | null>(null);
  readonly state = signal<LogState>("loading");
  readonly error = signal<unknown>(null);
  /** Whether there is more output at either end. */
  readonly hasOlder = signal(false);
  readonly hasNewer = signal(false);
  readonly start = signal(0);
  /** The offset after the last known byte. */
  readonly end = signal(0);
  readonly ended = signal<End | null | undefined>(undefined);
  /** Whether the view follows the end. */
  readonly following = signal(true);
  /** Lines that arrived while the view did not follow. */
  readonly unseen = signal(0);
  /** Whether output was skipped because it arrived too fast. */
  readonly flooded = signal(false);
  /** The offset to scroll to after a jump. */
  readonly target = signal<number | null>(null);

  readonly #launch: string;
  #work = new AbortController();
  #busy = false;
  /** Whether a jump is loading lines that will replace the current ones. */
  #isJumping = false;
  #stop: (() => void) | null = null;
  #lines = new Lines();
  #queue: StreamRecord[] = [];
  #queued = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(launch: string) {
    this.#launch = launch;
  }

  close(): void {
    this.#work.abort();
    this.#unsubscribe();
  }

  /** Jumps to the end and follows it. */
  async toEnd(): Promise<void> {
    this.following.value = true;
    this.unseen.value = 0;
    await this.#jump(async (signal) => {
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

  /** Jumps to an offset. */
  async to(offset: number): Promise<void> {
    this.following.value = false;
    await this.#jump(async (signal) => {
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

  /** Scrolls to an offset, and loads it only if necessary. */
  show(offset: number): void {
    this.following.value = false;
    const isHeld = !this.#isJumping && this.items.value.some((item) => item.offset === offset);
    if (isHeld) this.target.value = offset;
    else void this.to(offset);
  }

  /** Loads older lines. */
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
      const kept = fitting(this.items.value, MAX_LINES - added.length, MAX_TEXT - size(added));
      if (kept.length < this.items.value.length) this.#leaveEnd();
      this.items.value = [...added, ...kept];
      this.start.value = Math.max(this.start.value, got.from > from ? got.from : 0);
      this.hasOlder.value = added.length > 0 && this.#top() > this.start.value;
    });
  }

  /** Loads newer lines. */
  async newer(): Promise<void> {
    // While following, #flood jumps to the end soon.
    if (!this.hasNewer.value || this.following.value) return;
    await this.#more(async (signal) => {
      const from = this.#bottom();
      const got = await part(this.#launch, { from, to: from + SPAN }, signal);
      const last = this.items.value.at(-1);
      const lines = new Lines(undefined, last?.kind === "line" && last.isUnfinished);
      const items = got.records.flatMap((record) => lines.push(record));
      // If one line is longer than the whole part, take the part of it that was loaded.
      const whole = items.length === 0 && lines.open && endOf(got.records) === from + SPAN ? [lines.open] : items;
      const added = whole.slice(0, STEP);
      const kept = fitting([...this.items.value].reverse(), MAX_LINES - added.length, MAX_TEXT - size(added)).reverse();
      if (kept.length < this.items.value.length) this.hasOlder.value = true;
      this.items.value = [...kept, ...added];
      const reached = endOf(got.records) ?? from;
      this.end.value = Math.max(this.end.value, reached);
      this.#reach(reached < from + SPAN && added.length === items.length, lines, reached);
    });
  }

  /** Returns the offset to fetch from. At the top it is 0, so that the daemon reports dropped output. */
  #fromOrTop(offset: number): number {
    return offset <= this.start.value ? 0 : offset;
  }

  /** The offset of the first loaded byte. */
  #top(): number {
    return this.items.value[0]?.offset ?? this.open.value?.offset ?? this.end.value;
  }

  /** The offset after the last loaded byte. */
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

  /** Follows new output if the window reaches the end. */
  #reach(isEnd: boolean, lines: Lines, reached: number): void {
    this.hasNewer.value = !isEnd;
    if (!isEnd) return this.#leaveEnd();
    this.#lines = lines;
    this.open.value = lines.open;
    this.#listen(reached);
  }

  /** Stops following: the window no longer reaches the end. */
  #leaveEnd(): void {
    this.#unsubscribe();
    this.open.value = null;
    this.hasNewer.value = true;
    if (this.state.value !== "failed") this.state.value = this.ended.value === undefined ? "live" : "over";
  }

  #unsubscribe(): void {
    this.#stop?.();
    this.#stop = null;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue = [];
    this.#queued = 0;
  }

  #listen(from: number): void {
    this.#unsubscribe();
    this.hasNewer.value = false;
    this.state.value = "live";
    const path = outputPath(this.#launch, { from, follow: true, format: "sse" });
    this.#stop = follow(
      path,
      {
        opened: () => void (this.state.value = "live"),
        lost: () => void (this.state.value = "lost"),
        ended: (why) => this.#over(why),
        frames: (frames) => {
          for (const frame of frames) {
            this.#queue.push(JSON.parse(frame.data) as StreamRecord);
            this.#queued += frame.data.length;
          }
          if (this.#queued > FLOOD) this.#flood();
          else this.#timer ??= setTimeout(() => this.#take(), BATCH_MS);
        },
      },
      "end",
    );
  }

  #over(why: unknown): void {
    this.#take();
    if (why) {
      this.error.value = why;
      this.state.value = "failed";
    } else {
      this.state.value = "over";
    }
  }

  /** Skips output that arrives too fast. The user can scroll up to load it. */
  #flood(): void {
    this.#leaveEnd();
    this.flooded.value = true;
    if (!this.following.value) return;
    this.#timer = setTimeout(() => this.following.value && void this.toEnd(), AFTER_FLOOD_MS);
  }

  #take(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [records, amount] = [this.#queue, this.#queued];
    this.#queue = [];
    this.#queued = 0;
    if (records.length === 0) return;
    if (amount < FLOOD / 8) this.flooded.value = false;
    const output = records.filter((one) => one.type !== "end") as (OutputRecord | GapRecord)[];
    const added = output.flatMap((record) => this.#lines.push(record));
    const end = records.find((one) => one.type === "end");
    if (end) this.ended.value = end;
    this.end.value = Math.max(this.end.value, endOf(output) ?? 0);
    this.open.value = this.#lines.open;
    if (!this.following.value) this.unseen.value += added.length;
    this.#append(added);
  }

  #append(added: Item[]): void {
    if (added.length === 0) return;
    const all = [...this.items.value, ...added];
    const newest = fitting([...all].reverse(), MAX_LINES, MAX_TEXT).reverse();
    if (newest.length === all.length) {
      this.items.value = all;
    } else if (this.following.value) {
      this.items.value = newest;
      this.hasOlder.value = true;
    } else {
      // The user is reading the lines that would have to be dropped.
      this.items.value = fitting(all, MAX_LINES, MAX_TEXT);
      this.#leaveEnd();
    }
  }

  /** Loads another window, and cancels all work for the current one. */
  async #jump(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#work.abort();
    this.#work = new AbortController();
    this.#busy = false;
    this.#isJumping = true;
    this.#unsubscribe();
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
    this.state.value = "failed";
  }
}

function size(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + (item.kind === "line" ? item.text.length : 0), 0);
}

/** Returns as many of the first items as fit, but at least one. */
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

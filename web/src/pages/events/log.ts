/**
 * The part of the event log that the page has: from one number to another, without gaps of its own making.
 *
 * Numbers have no gaps, so what was missed is known by them: it is asked for, and what is not kept any more is marked.
 */
import type { EventView } from "../../api/types.ts";

/** An event, or a word on those that are not there. */
export type Entry = { seq: number; event: EventView } | { seq: number; event: null; word: string };

/** So many are kept; the oldest make room. */
export const MOST = 5000;

export class Log {
  readonly entries: readonly Entry[];
  /** All from here on were looked at; 1 if there are none before. */
  readonly low: number;
  /** The last number that was heard of; 0: none. */
  readonly high: number;

  constructor(entries: readonly Entry[] = [], low = 1, high = 0) {
    this.entries = entries;
    this.low = low;
    this.high = high;
  }

  /** The end of the log, as it was asked for: `tail` at most. */
  static begun(events: EventView[], tail: number): Log {
    const [first, last] = [events[0], events.at(-1)];
    if (!first || !last) return new Log();
    // Fewer than were asked for: there are none before.
    const low = events.length < tail ? 1 : first.seq;
    const lost = low < first.seq ? [gone(low, first.seq - 1)] : [];
    return new Log([...lost, ...events.map(entry)], low, last.seq);
  }

  /** With what has come after; what is known already is left out, what is missing in between is marked. */
  with(events: EventView[]): Log {
    const fresh = events.filter((event) => event.seq > this.high);
    const last = fresh.at(-1);
    if (!last) return this;
    const added: Entry[] = [];
    let expected = this.high + 1;
    for (const event of fresh) {
      if (event.seq > expected && this.high > 0) added.push(gone(expected, event.seq - 1));
      added.push(entry(event));
      expected = event.seq + 1;
    }
    const all = [...this.entries, ...added];
    const kept = all.slice(-MOST);
    return new Log(kept, kept.length < all.length ? (kept[0]?.seq ?? this.low) : this.low, last.seq);
  }

  /** With what was before: all that is wanted from `from` up to the lowest so far. */
  withOlder(events: EventView[], from: number, isWhole: boolean): Log {
    const added = events.filter((event) => event.seq < this.low).map(entry);
    const first = added[0]?.seq ?? this.low;
    // The log is cut at its beginning: the first that is told says where.
    if (isWhole && first > from && this.low > from) return new Log([gone(1, first - 1), ...added, ...this.entries], 1, this.high);
    return new Log([...added, ...this.entries], from, this.high);
  }

  /** Whether an event contradicts what is known: then it is another log, of another home or an older copy. */
  contradicts(event: EventView): boolean {
    if (event.seq > this.high) return false;
    const known = this.entries.findLast((it) => it.seq === event.seq);
    return known?.event != null && known.event.time !== event.time;
  }
}

function entry(event: EventView): Entry {
  return { seq: event.seq, event };
}

function gone(from: number, to: number): Entry {
  const which = from === to ? `Event ${from} is` : `Events ${from.toLocaleString("en")} to ${to.toLocaleString("en")} are`;
  return { seq: to, event: null, word: `${which} no longer kept` };
}

/** Says that what follows is of another log. */
export function begunAnew(seq: number): Entry {
  return { seq, event: null, word: "The log began anew: what follows is of another one" };
}

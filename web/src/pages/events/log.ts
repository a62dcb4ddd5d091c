/**
 * The loaded part of the event log: a range of sequence numbers.
 *
 * Sequence numbers have no gaps, so a gap means that events were missed. The page fetches them; if the daemon no longer keeps them,
 * it marks the gap.
 */
import type { EventView } from "../../api/types.ts";

/** An event, or a note about missing events. */
export type Entry = { seq: number; event: EventView } | { seq: number; event: null; text: string };

/** When there are more, the oldest are dropped. */
export const MAX_ENTRIES = 5000;

export class Log {
  readonly entries: readonly Entry[];
  /** The lowest loaded number; 1 if there are no earlier events. */
  readonly low: number;
  /** The highest known number; 0 if there is none. */
  readonly high: number;

  constructor(entries: readonly Entry[] = [], low = 1, high = 0) {
    this.entries = entries;
    this.low = low;
    this.high = high;
  }

  /** Creates a log from its last events; at most `tail` were requested. */
  static fromTail(events: EventView[], tail: number): Log {
    const [first, last] = [events[0], events.at(-1)];
    if (!first || !last) return new Log();
    // Fewer than requested: there are no earlier events.
    const low = events.length < tail ? 1 : first.seq;
    const lost = low < first.seq ? [missing(low, first.seq - 1)] : [];
    return new Log([...lost, ...events.map(entry)], low, last.seq);
  }

  /** Returns the log with newer events. Known events are skipped, and gaps are marked. */
  with(events: EventView[]): Log {
    const fresh = events.filter((event) => event.seq > this.high);
    const last = fresh.at(-1);
    if (!last) return this;
    const added: Entry[] = [];
    let expected = this.high + 1;
    for (const event of fresh) {
      if (event.seq > expected && this.high > 0) added.push(missing(expected, event.seq - 1));
      added.push(entry(event));
      expected = event.seq + 1;
    }
    const all = [...this.entries, ...added];
    const kept = all.slice(-MAX_ENTRIES);
    return new Log(kept, kept.length < all.length ? (kept[0]?.seq ?? this.low) : this.low, last.seq);
  }

  /** Returns the log with older events: all that match the filter between `from` and the lowest loaded one. */
  withOlder(events: EventView[], from: number, isWhole: boolean): Log {
    const added = events.filter((event) => event.seq < this.low).map(entry);
    const first = added[0]?.seq ?? this.low;
    // The daemon has dropped the beginning of the log: the first event shows where it starts.
    if (isWhole && first > from && this.low > from) return new Log([missing(1, first - 1), ...added, ...this.entries], 1, this.high);
    return new Log([...added, ...this.entries], from, this.high);
  }

  /** Whether an event contradicts a loaded one, because the log was replaced by that of another home or by an older copy. */
  contradicts(event: EventView): boolean {
    if (event.seq > this.high) return false;
    const known = this.entries.findLast((it) => it.seq === event.seq);
    return known?.event != null && known.event.time !== event.time;
  }
}

function entry(event: EventView): Entry {
  return { seq: event.seq, event };
}

function missing(from: number, to: number): Entry {
  const which = from === to ? `Event ${from} is` : `Events ${from.toLocaleString("en")} to ${to.toLocaleString("en")} are`;
  return { seq: to, event: null, text: `${which} no longer kept` };
}

/** Marks the start of another log. */
export function logReplaced(seq: number): Entry {
  return { seq, event: null, text: "The event log was replaced: events below are from a different log" };
}

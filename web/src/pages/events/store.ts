import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { ask, query } from "../../api/http.ts";
import type { EventView } from "../../api/types.ts";
import { onEvents, onHearing } from "../../state/live.ts";
import { begunAnew, type Entry, Log, MOST } from "./log.ts";

/** So many at first. */
const TAIL = 500;
/** So many numbers are looked through for older ones: more, if only some of them are wanted. */
const OLDER = 500;
const OLDER_OF_SOME = 20_000;

/** Which events are wanted: all, or those of some kinds or of one session's launches. */
export interface Wanted {
  kinds: readonly string[];
  launches: readonly string[];
}

export interface Store {
  log: Signal<Log>;
  isLoaded: Signal<boolean>;
  error: Signal<unknown>;
  /** Whether older ones are being asked for. */
  isAsking: Signal<boolean>;
  again: () => void;
  older: () => void;
}

async function ranged(params: Record<string, string | number | undefined>, signal: AbortSignal): Promise<EventView[]> {
  const response = await ask("GET", `/v1/events${query({ format: "ndjson", ...params })}`, { signal, accept: "application/x-ndjson" });
  const text = await response.text();
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as EventView);
}

/** The end of the event log, as it grows; begun anew when other events are wanted. */
export function useEventLog(wanted: Wanted): Store {
  const log = useSignal(new Log());
  const isLoaded = useSignal(false);
  const error = useSignal<unknown>(null);
  const isAsking = useSignal(false);
  const turn = useSignal(0);
  const key = `${wanted.kinds.join(",")} ${wanted.launches.join(",")}`;
  const keeper = useMemo(() => new Keeper(log, isLoaded, error), []);
  useEffect(() => keeper.keep(), [key, turn.value]);
  return {
    log,
    isLoaded,
    error,
    isAsking,
    again: () => void (turn.value += 1),
    older: () => {
      isAsking.value = true;
      void keeper.older(wanted).finally(() => (isAsking.value = false));
    },
  };
}

/** Keeps a log up to date: one thing after the other. */
class Keeper {
  #log: Signal<Log>;
  #isLoaded: Signal<boolean>;
  #error: Signal<unknown>;
  #closing = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(log: Signal<Log>, isLoaded: Signal<boolean>, error: Signal<unknown>) {
    this.#log = log;
    this.#isLoaded = isLoaded;
    this.#error = error;
  }

  /** Begins; returns what ends it. */
  keep(): () => void {
    const closing = new AbortController();
    this.#closing = closing;
    this.#isLoaded.value = false;
    const deaf = onEvents((events) => this.#then(() => this.#take(events)));
    const hearing = onHearing(() => this.#then(() => this.#catchUp()));
    this.#last = Promise.resolve();
    this.#then(() => this.#begin());
    return () => {
      closing.abort();
      deaf();
      hearing();
    };
  }

  #then(work: () => Promise<void>): void {
    const { signal } = this.#closing;
    this.#last = this.#last
      .then(() => (signal.aborted ? undefined : work()))
      .then(
        () => void (signal.aborted || (this.#error.value = null)),
        (failed: unknown) => void (signal.aborted || (this.#error.value = failed)),
      );
  }

  async #begin(): Promise<void> {
    const { signal } = this.#closing;
    const events = await ranged({ tail: TAIL }, signal);
    if (signal.aborted) return;
    this.#log.value = Log.begun(events, TAIL);
    this.#isLoaded.value = true;
  }

  async #take(events: EventView[]): Promise<void> {
    if (!this.#isLoaded.value) return this.#begin();
    const [first] = events;
    if (!first) return;
    const { signal } = this.#closing;
    const log = this.#log.value;
    if (log.contradicts(first)) {
      this.#log.value = new Log([begunAnew(first.seq)], first.seq, first.seq - 1).with(events);
      return;
    }
    // Some were told while nobody was heard.
    const isGap = log.high > 0 && first.seq > log.high + 1;
    const missed = isGap ? await ranged({ since: log.high, until: first.seq - 1 }, signal) : [];
    if (!signal.aborted) this.#log.value = log.with([...missed, ...events]);
  }

  async #catchUp(): Promise<void> {
    if (!this.#isLoaded.value) return this.#begin();
    const { signal } = this.#closing;
    const log = this.#log.value;
    const missed = await ranged({ since: log.high }, signal);
    if (!signal.aborted) this.#log.value = log.with(missed);
  }

  /** Looks through what was before. */
  async older(wanted: Wanted): Promise<void> {
    this.#then(() => this.#older(wanted));
    await this.#last;
  }

  async #older({ kinds, launches }: Wanted): Promise<void> {
    const { signal } = this.#closing;
    const log = this.#log.value;
    const isWhole = kinds.length === 0 && launches.length === 0;
    const since = Math.max(0, log.low - 1 - (isWhole ? Math.min(OLDER, MOST - log.entries.length) : OLDER_OF_SOME));
    const range = { since, until: log.low - 1, kind: kinds.length > 0 ? kinds.join(",") : undefined };
    const pieces = await Promise.all(
      launches.length === 0 ? [ranged(range, signal)] : launches.map((session) => ranged({ ...range, session }, signal)),
    );
    if (signal.aborted) return;
    const found = pieces.flat().sort((a, b) => a.seq - b.seq);
    // Those next to what is shown, if there are too many.
    const room = Math.max(0, MOST - log.entries.length);
    const fits = found.slice(Math.max(0, found.length - room));
    const from = fits.length < found.length ? (fits[0]?.seq ?? log.low) : since + 1;
    this.#log.value = log.withOlder(fits, from, isWhole && fits.length === found.length);
  }
}

/** Whether an entry is among those that are looked for. */
export function matches(entry: Entry, wanted: Wanted, text: string, nameOf: (launch: string) => string): boolean {
  const { event } = entry;
  if (event === null) return true;
  if (wanted.kinds.length > 0 && !wanted.kinds.includes(event.kind)) return false;
  if (wanted.launches.length > 0 && !(event.session !== null && wanted.launches.includes(event.session))) return false;
  if (text === "") return true;
  const name = event.session === null ? "" : `${event.session} ${nameOf(event.session)}`;
  return `${event.seq} ${event.kind} ${event.cause} ${event.by ?? ""} ${name}`.toLowerCase().includes(text);
}

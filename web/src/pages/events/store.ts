import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { ask, query } from "../../api/http.ts";
import type { EventView } from "../../api/types.ts";
import { onEvents, onConnected } from "../../state/live.ts";
import { logReplaced, type Entry, Log, MAX_ENTRIES } from "./log.ts";

/** How many events are loaded first. */
const TAIL = 500;
/** How many sequence numbers "load older" covers: more if a filter is set. */
const OLDER = 500;
const OLDER_FILTERED = 20_000;

/** The kinds and launches to show; empty means all. */
export interface EventFilter {
  kinds: readonly string[];
  launches: readonly string[];
}

export interface Store {
  log: Signal<Log>;
  isLoaded: Signal<boolean>;
  error: Signal<unknown>;
  /** Whether older events are being loaded. */
  isFetching: Signal<boolean>;
  retry: () => void;
  older: () => void;
}

async function ranged(params: Record<string, string | number | undefined>, signal: AbortSignal): Promise<EventView[]> {
  const response = await ask("GET", `/v1/events${query({ format: "ndjson", ...params })}`, { signal, accept: "application/x-ndjson" });
  const text = await response.text();
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as EventView);
}

/** Loads the end of the event log and keeps it up to date. Starts over when the filter changes. */
export function useEventLog(filter: EventFilter): Store {
  const log = useSignal(new Log());
  const isLoaded = useSignal(false);
  const error = useSignal<unknown>(null);
  const isFetching = useSignal(false);
  const turn = useSignal(0);
  const key = `${filter.kinds.join(",")} ${filter.launches.join(",")}`;
  const updater = useMemo(() => new LogUpdater(log, isLoaded, error), []);
  useEffect(() => updater.start(), [key, turn.value]);
  return {
    log,
    isLoaded,
    error,
    isFetching,
    retry: () => void (turn.value += 1),
    older: () => {
      isFetching.value = true;
      void updater.older(filter).finally(() => (isFetching.value = false));
    },
  };
}

/** Keeps a log up to date. Runs one operation at a time. */
class LogUpdater {
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

  /** Starts the updates; returns a function that stops them. */
  start(): () => void {
    const closing = new AbortController();
    this.#closing = closing;
    this.#isLoaded.value = false;
    const unsubscribeEvents = onEvents((events) => this.#then(() => this.#take(events)));
    const unsubscribeConnected = onConnected(() => this.#then(() => this.#catchUp()));
    this.#last = Promise.resolve();
    this.#then(() => this.#begin());
    return () => {
      closing.abort();
      unsubscribeEvents();
      unsubscribeConnected();
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
    this.#log.value = Log.fromTail(events, TAIL);
    this.#isLoaded.value = true;
  }

  async #take(events: EventView[]): Promise<void> {
    if (!this.#isLoaded.value) return this.#begin();
    const [first] = events;
    if (!first) return;
    const { signal } = this.#closing;
    const log = this.#log.value;
    if (log.contradicts(first)) {
      this.#log.value = new Log([logReplaced(first.seq)], first.seq, first.seq - 1).with(events);
      return;
    }
    // The daemon logged some events while the stream was disconnected.
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

  /** Loads older events. */
  async older(filter: EventFilter): Promise<void> {
    this.#then(() => this.#older(filter));
    await this.#last;
  }

  async #older({ kinds, launches }: EventFilter): Promise<void> {
    const { signal } = this.#closing;
    const log = this.#log.value;
    const isWhole = kinds.length === 0 && launches.length === 0;
    const since = Math.max(0, log.low - 1 - (isWhole ? Math.min(OLDER, MAX_ENTRIES - log.entries.length) : OLDER_FILTERED));
    const range = { since, until: log.low - 1, kind: kinds.length > 0 ? kinds.join(",") : undefined };
    const pieces = await Promise.all(
      launches.length === 0 ? [ranged(range, signal)] : launches.map((session) => ranged({ ...range, session }, signal)),
    );
    if (signal.aborted) return;
    const found = pieces.flat().sort((a, b) => a.seq - b.seq);
    // If there are too many, take the ones next to the loaded range.
    const room = Math.max(0, MAX_ENTRIES - log.entries.length);
    const fits = found.slice(Math.max(0, found.length - room));
    const from = fits.length < found.length ? (fits[0]?.seq ?? log.low) : since + 1;
    this.#log.value = log.withOlder(fits, from, isWhole && fits.length === found.length);
  }
}

/** Whether an entry passes the filter and the text search. */
export function matches(entry: Entry, filter: EventFilter, text: string, nameOf: (launch: string) => string): boolean {
  const { event } = entry;
  if (event === null) return true;
  if (filter.kinds.length > 0 && !filter.kinds.includes(event.kind)) return false;
  if (filter.launches.length > 0 && !(event.session !== null && filter.launches.includes(event.session))) return false;
  if (text === "") return true;
  const name = event.session === null ? "" : `${event.session} ${nameOf(event.session)}`;
  return `${event.seq} ${event.kind} ${event.cause} ${event.by ?? ""} ${name}`.toLowerCase().includes(text);
}

/**
 * What the daemon knows, kept up to date: the sessions, and whether we hear of changes at all.
 *
 * The event log says which sessions have changed, and these are asked for anew; after an interruption everything is. So what is
 * shown is always the daemon's own word, never a guess from events.
 */
import { computed, signal } from "@preact/signals";

import { follow } from "../api/events.ts";
import { get, query, Refusal, segment } from "../api/http.ts";
import type { EventView, SessionPage, SessionView } from "../api/types.ts";

/** `signed_out`: the daemon is there, and does not know this browser any more. */
export type Connection = "connecting" | "live" | "lost" | "signed_out";

export const connection = signal<Connection>("connecting");
/** Every launch of every session that is on record, by its id. */
export const launches = signal<ReadonlyMap<string, SessionView>>(new Map());
/** Whether they have been told at least once. */
export const loaded = signal(false);
/** The number of the last event that was heard. */
export const lastEvent = signal(0);

/** The latest launch of each session, the newest session first. */
export const sessions = computed<SessionView[]>(() => {
  const latest = new Map<string, SessionView>();
  for (const launch of launches.value.values()) {
    const other = latest.get(launch.session);
    if (!other || other.attempt < launch.attempt) latest.set(launch.session, launch);
  }
  return [...latest.values()].sort((a, b) => (a.session < b.session ? 1 : -1));
});

export const live = computed(() => sessions.value.filter((session) => !isOver(session)));

/** Whether nothing runs any more, and nothing will by itself. */
export function isOver(session: SessionView): boolean {
  return (session.phase === "reaped" || session.phase === "cleaned") && session.relaunch.relaunch !== "pending";
}

type Listener = (events: EventView[]) => void;
const listeners = new Set<Listener>();

/** Has events told as they come; returns what ends it. */
export function onEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const hearings = new Set<() => void>();

/** Has it told when events begin to be heard, for the first time or again: what was asked for before may be out of date. */
export function onHearing(listener: () => void): () => void {
  hearings.add(listener);
  return () => hearings.delete(listener);
}

const returns = new Set<() => void>();

/** Has it told when the daemon was lost and is heard again; returns what ends it. */
export function onReturn(listener: () => void): () => void {
  returns.add(listener);
  return () => returns.delete(listener);
}

/** Up to so many are asked for one by one; of more, all are. */
const FEW = 8;
/** Changes come in groups: starting, running, … */
const TOGETHER_MS = 8;

let dirty = new Set<string>();
let all = false;
let timer: ReturnType<typeof setTimeout> | undefined;
/** Ends the update that is under way. */
let busy: AbortController | null = null;
let retries = 0;

/** Asks for a session anew, soon. */
export function refresh(id: string): void {
  dirty.add(id);
  soon();
}

/** Asks for all sessions anew. */
export function refreshAll(): void {
  all = true;
  soon();
}

function soon(after = TOGETHER_MS): void {
  if (busy || timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    void update();
  }, after);
}

/** What is under way was asked of a daemon that may be gone: nobody waits for its answer, and all is asked for anew. */
function updateAnew(): void {
  busy?.abort();
  refreshAll();
}

async function update(): Promise<void> {
  const [ids, whole] = [dirty, all];
  dirty = new Set();
  all = false;
  const closing = (busy = new AbortController());
  try {
    if (whole || ids.size > FEW) launches.value = await list(closing.signal);
    else if (ids.size > 0) launches.value = await some(ids, closing.signal);
    loaded.value = true;
    retries = 0;
  } catch (error) {
    for (const id of ids) dirty.add(id);
    all ||= whole;
    retries = closing.signal.aborted ? 0 : retries + 1;
    if (error instanceof Refusal && error.status === 401) connection.value = "signed_out";
  } finally {
    busy = null;
  }
  if (all || dirty.size > 0) soon(retries ? Math.min(100 * 2 ** retries, 3000) : TOGETHER_MS);
}

async function list(closing: AbortSignal): Promise<Map<string, SessionView>> {
  const found = new Map<string, SessionView>();
  let after: string | undefined;
  do {
    const page: SessionPage = await get(`/v1/sessions${query({ all: true, after })}`, closing);
    for (const session of page.sessions) found.set(session.id, session);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return found;
}

async function some(ids: Set<string>, closing: AbortSignal): Promise<Map<string, SessionView>> {
  const views = await Promise.all([...ids].map(async (id) => [id, await one(id, closing)] as const));
  const next = new Map(launches.value);
  for (const [id, view] of views) {
    if (view) next.set(id, view);
    else next.delete(id);
  }
  return next;
}

async function one(id: string, closing: AbortSignal): Promise<SessionView | null> {
  try {
    // The bare id of a session means its latest launch; that of the first is told apart so.
    return await get<SessionView>(`/v1/sessions/${segment(launchReference(id))}`, closing);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null;
    throw error;
  }
}

/** What names exactly this launch. */
export function launchReference(id: string): string {
  return id.includes("_") ? id : `${id}_1`;
}

function hear(events: EventView[]): void {
  const touched = new Set(events.flatMap((event) => (event.session === null ? [] : [event.session])));
  for (const id of touched) {
    refresh(id);
    // What happens to a launch is told of the one before, too: how many there are, whether it was launched again.
    const before = predecessor(id);
    if (before) refresh(before);
  }
  // Who comes to the line or leaves it moves the others, of which nothing is told.
  const isInLine = (id: string) => launches.value.get(id)?.phase === "queued";
  if ([...touched].some((id) => isInLine(id) || !launches.value.has(id))) {
    for (const id of launches.value.keys()) if (isInLine(id)) refresh(id);
  }
  lastEvent.value = events.at(-1)?.seq ?? lastEvent.value;
  for (const listener of listeners) listener(events);
}

function predecessor(id: string): string | null {
  const [session, attempt] = id.split("_");
  if (attempt === undefined || session === undefined) return null;
  return attempt === "2" ? session : `${session}_${Number(attempt) - 1}`;
}

/** After an answer that is none of a daemon of ours: another program may have its port for a while. */
const STRANGE_MS = 3000;

/** Begins to listen, for as long as the page is there. */
export function listen(wasHeard = false): void {
  follow("/v1/events?tail=0", {
    opened(again) {
      connection.value = "live";
      updateAnew();
      for (const listener of hearings) listener();
      if (again || wasHeard) for (const listener of returns) listener();
    },
    lost() {
      if (connection.value !== "signed_out") connection.value = loaded.value ? "lost" : "connecting";
    },
    ended(why) {
      if (why?.status === 401) {
        connection.value = "signed_out";
        return;
      }
      connection.value = loaded.value ? "lost" : "connecting";
      setTimeout(() => listen(loaded.value), STRANGE_MS);
    },
    frames(frames) {
      const told = frames.filter((frame) => frame.kind !== "missed" && frame.kind !== "reset");
      if (told.length < frames.length) {
        // Some are not told: whatever was asked for may be out of date.
        refreshAll();
        for (const listener of hearings) listener();
      }
      if (told.length > 0) hear(told.map((frame) => JSON.parse(frame.data) as EventView));
    },
  });
}

/**
 * The sessions of the daemon, kept up to date, and the state of the connection.
 *
 * The event log reports which sessions changed, and the page fetches these again; after a disconnect it fetches all of them. So it
 * always shows the state from the API and never derives it from events.
 */
import { computed, signal } from "@preact/signals";

import { follow } from "../api/events.ts";
import { get, query, ApiError, segment } from "../api/http.ts";
import type { EventView, SessionPage, SessionView } from "../api/types.ts";

/** `signed_out`: the daemon responds, but this browser is no longer signed in. */
export type Connection = "connecting" | "live" | "lost" | "signed_out";

export const connection = signal<Connection>("connecting");
/** Every launch of every recorded session, by its id. */
export const launches = signal<ReadonlyMap<string, SessionView>>(new Map());
/** Whether the list was loaded at least once. */
export const loaded = signal(false);
/** The number of the last received event. */
export const lastEvent = signal(0);

/** The latest launch of each session, newest session first. */
export const sessions = computed<SessionView[]>(() => {
  const latest = new Map<string, SessionView>();
  for (const launch of launches.value.values()) {
    const other = latest.get(launch.session);
    if (!other || other.attempt < launch.attempt) latest.set(launch.session, launch);
  }
  return [...latest.values()].sort((a, b) => (a.session < b.session ? 1 : -1));
});

export const live = computed(() => sessions.value.filter((session) => !isOver(session)));

/** Whether the session has ended and no restart is pending. */
export function isOver(session: SessionView): boolean {
  return (session.phase === "reaped" || session.phase === "cleaned") && session.relaunch.relaunch !== "pending";
}

type Listener = (events: EventView[]) => void;
const listeners = new Set<Listener>();

/** Calls the listener with new events; returns a function that unsubscribes. */
export function onEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const connectListeners = new Set<() => void>();

/** Calls the listener whenever the event stream connects: anything fetched before may be out of date. */
export function onConnected(listener: () => void): () => void {
  connectListeners.add(listener);
  return () => connectListeners.delete(listener);
}

const reconnectListeners = new Set<() => void>();

/** Calls the listener when the event stream reconnects after a loss; returns a function that unsubscribes. */
export function onReconnected(listener: () => void): () => void {
  reconnectListeners.add(listener);
  return () => reconnectListeners.delete(listener);
}

/** Up to this many sessions are fetched one by one; for more, the whole list is fetched. */
const MAX_SINGLE_FETCHES = 8;
/** Events arrive in groups: starting, running, … */
const BATCH_MS = 8;

let dirty = new Set<string>();
let all = false;
let timer: ReturnType<typeof setTimeout> | undefined;
/** Cancels the update that is under way. */
let busy: AbortController | null = null;
let retries = 0;

/** Schedules a fetch of this launch. */
export function refresh(id: string): void {
  dirty.add(id);
  schedule();
}

/** Schedules a fetch of all sessions. */
export function refreshAll(): void {
  all = true;
  schedule();
}

function schedule(after = BATCH_MS): void {
  if (busy || timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    void update();
  }, after);
}

/** Cancels the update under way, because its daemon may be gone, and fetches all sessions. */
function restartUpdate(): void {
  busy?.abort();
  refreshAll();
}

async function update(): Promise<void> {
  const [ids, whole] = [dirty, all];
  dirty = new Set();
  all = false;
  const closing = (busy = new AbortController());
  try {
    if (whole || ids.size > MAX_SINGLE_FETCHES) launches.value = await list(closing.signal);
    else if (ids.size > 0) launches.value = await some(ids, closing.signal);
    loaded.value = true;
    retries = 0;
  } catch (error) {
    for (const id of ids) dirty.add(id);
    all ||= whole;
    retries = closing.signal.aborted ? 0 : retries + 1;
    if (error instanceof ApiError && error.status === 401) connection.value = "signed_out";
  } finally {
    busy = null;
  }
  if (all || dirty.size > 0) schedule(retries ? Math.min(100 * 2 ** retries, 3000) : BATCH_MS);
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
    // A bare session id refers to the latest launch, so name the launch explicitly.
    return await get<SessionView>(`/v1/sessions/${segment(launchReference(id))}`, closing);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Returns a reference that names exactly this launch. */
export function launchReference(id: string): string {
  return id.includes("_") ? id : `${id}_1`;
}

function handleEvents(events: EventView[]): void {
  const touched = new Set(events.flatMap((event) => (event.session === null ? [] : [event.session])));
  for (const id of touched) {
    refresh(id);
    // A new launch also changes the previous one: the number of launches, and whether it was restarted.
    const before = predecessor(id);
    if (before) refresh(before);
  }
  // A session that enters or leaves the queue moves the others, without an event for them.
  const isQueued = (id: string) => launches.value.get(id)?.phase === "queued";
  if ([...touched].some((id) => isQueued(id) || !launches.value.has(id))) {
    for (const id of launches.value.keys()) if (isQueued(id)) refresh(id);
  }
  lastEvent.value = events.at(-1)?.seq ?? lastEvent.value;
  for (const listener of listeners) listener(events);
}

function predecessor(id: string): string | null {
  const [session, attempt] = id.split("_");
  if (attempt === undefined || session === undefined) return null;
  return attempt === "2" ? session : `${session}_${Number(attempt) - 1}`;
}

/** The delay after a response that is not from a Kennel daemon: another program may hold its port for a while. */
const FOREIGN_RETRY_MS = 3000;

/** Connects to the event stream for the lifetime of the page. */
export function listen(wasConnected = false): void {
  follow("/v1/events?tail=0", {
    opened(isReconnect) {
      connection.value = "live";
      restartUpdate();
      for (const listener of connectListeners) listener();
      if (isReconnect || wasConnected) for (const listener of reconnectListeners) listener();
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
      setTimeout(() => listen(loaded.value), FOREIGN_RETRY_MS);
    },
    frames(frames) {
      const events = frames.filter((frame) => frame.kind !== "missed" && frame.kind !== "reset");
      if (events.length < frames.length) {
        // Some events were missed, so anything may be out of date.
        refreshAll();
        for (const listener of connectListeners) listener();
      }
      if (events.length > 0) handleEvents(events.map((frame) => JSON.parse(frame.data) as EventView));
    },
  });
}

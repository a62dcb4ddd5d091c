/**
 * The resource usage of live sessions, polled while some part of a visible page shows it. Each session has its own signal, so that
 * a new sample re-renders only its own row.
 */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { get, ApiError } from "../api/http.ts";
import type { SessionUsage } from "../api/types.ts";
import { connection, onReconnected } from "./live.ts";
import { added, adjustedToClock, type Sample } from "./samples.ts";

const EVERY_MS = 2000;
const HISTORY = 30;
/** After a pause of this length the samples start over. */
const PAUSE_MS = 5 * EVERY_MS;

type UsageWithHistory = SessionUsage & { history?: Sample[] };

const NONE: readonly Sample[] = [];
const known = new Map<string, Signal<readonly Sample[]>>();
const troubles = new Map<string, string>();
/** Counts the responses. Read it to recompute sorts and sums over all sessions. */
export const answers = signal(0);

let subscribers = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let asking: AbortController | null = null;
let offersHistory = true;
let lastAnswer = 0;

/** The launches that are on screen. Samples of other launches are dropped when they end. */
const shown = new Set<string>();

function watching(launch: string) {
  return { watched: () => void shown.add(launch), unwatched: () => void shown.delete(launch) };
}

/** Returns the samples of a launch, oldest first; empty if unknown. */
export function usageOf(launch: string): ReadonlySignal<readonly Sample[]> {
  let found = known.get(launch);
  if (!found) known.set(launch, (found = signal(NONE, watching(launch))));
  return found;
}

/** Returns why usage is unknown, if the daemon reports it. */
export function usageTrouble(launch: string): string | null {
  return troubles.get(launch) ?? null;
}

/** Polls usage while the calling component is mounted. */
export function useUsage(): void {
  useEffect(() => {
    subscribers += 1;
    void poll();
    return () => void (subscribers -= 1);
  }, []);
}

async function poll(): Promise<void> {
  if (asking) return;
  const closing = (asking = new AbortController());
  clearTimeout(timer);
  try {
    if (!document.hidden && connection.value !== "signed_out") take(await ask(closing.signal));
  } catch {
    // The connection state shows that the daemon is down; the last samples stay.
  } finally {
    asking = null;
  }
  if (subscribers > 0) timer = setTimeout(poll, EVERY_MS);
}

// Do not wait for a request to the previous daemon.
onReconnected(() => asking?.abort());

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && subscribers > 0) void poll();
});

/** Includes the daemon’s recorded history if this page has no recent samples. */
async function ask(closing: AbortSignal): Promise<UsageWithHistory[]> {
  if (offersHistory && Date.now() - lastAnswer > PAUSE_MS) {
    try {
      return await get<UsageWithHistory[]>(`/v1/usage?history=${HISTORY}`, closing);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status < 400 || error.status >= 500) throw error;
      offersHistory = false;
    }
  }
  return get<UsageWithHistory[]>("/v1/usage", closing);
}

function take(views: UsageWithHistory[]): void {
  const now = Date.now();
  const wasPause = now - lastAnswer > PAUSE_MS;
  const present = new Set<string>();
  for (const one of views) {
    present.add(one.id);
    if (one.trouble) troubles.set(one.id, one.trouble);
    else troubles.delete(one.id);
    if (!one.usage) continue;
    const kept = usageOf(one.id) as Signal<readonly Sample[]>;
    const before = one.history ? adjustedToClock(one.history, now) : wasPause ? NONE : kept.value;
    const { cpu_ms, memory_bytes, processes } = one.usage;
    kept.value = added(before, { at_ms: now, cpu_ms, memory_bytes, processes });
  }
  for (const [id, kept] of known) {
    if (present.has(id)) continue;
    if (kept.peek().length > 0) kept.value = NONE;
    troubles.delete(id);
    if (!shown.has(id)) known.delete(id);
  }
  lastAnswer = now;
  answers.value += 1;
}

/**
 * What the live sessions use, asked for as long as some part of the page shows it and somebody looks. Each session has a signal
 * of its own, so that what one uses is no news for the rows of the others.
 */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { get, Refusal } from "../api/http.ts";
import type { SessionUsage } from "../api/types.ts";
import { connection, onReturn } from "./live.ts";
import { added, broughtHere, type Sample } from "./samples.ts";

const EVERY_MS = 2000;
const HISTORY = 30;
/** A sample after so long a pause begins a new line. */
const PAUSE_MS = 5 * EVERY_MS;

type Told = SessionUsage & { history?: Sample[] };

const NONE: readonly Sample[] = [];
const known = new Map<string, Signal<readonly Sample[]>>();
const troubles = new Map<string, string>();
/** Counts the answers: for who sorts by what is used, or adds it up. */
export const answers = signal(0);

let interested = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let asking: AbortController | null = null;
let offersHistory = true;
let lastAnswer = 0;

/** The launches that are shown; of others nothing need be kept once they are over. */
const shown = new Set<string>();

function watching(launch: string) {
  return { watched: () => void shown.add(launch), unwatched: () => void shown.delete(launch) };
}

/** What a launch has used, the latest last; none if it is not known. */
export function usageOf(launch: string): ReadonlySignal<readonly Sample[]> {
  let found = known.get(launch);
  if (!found) known.set(launch, (found = signal(NONE, watching(launch))));
  return found;
}

/** Why it is not known, if that is said. */
export function usageTrouble(launch: string): string | null {
  return troubles.get(launch) ?? null;
}

/** Has usage asked for while the caller is shown. */
export function useUsage(): void {
  useEffect(() => {
    interested += 1;
    void look();
    return () => void (interested -= 1);
  }, []);
}

async function look(): Promise<void> {
  if (asking) return;
  const closing = (asking = new AbortController());
  clearTimeout(timer);
  try {
    if (!document.hidden && connection.value !== "signed_out") take(await ask(closing.signal));
  } catch {
    // Whether the daemon answers is told by the connection; what was told before stays.
  } finally {
    asking = null;
  }
  if (interested > 0) timer = setTimeout(look, EVERY_MS);
}

// What was asked of the daemon before is not waited for.
onReturn(() => asking?.abort());

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && interested > 0) void look();
});

/** With what the daemon has kept, if we have nothing of late ourselves and it keeps something. */
async function ask(closing: AbortSignal): Promise<Told[]> {
  if (offersHistory && Date.now() - lastAnswer > PAUSE_MS) {
    try {
      return await get<Told[]>(`/v1/usage?history=${HISTORY}`, closing);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status < 400 || error.status >= 500) throw error;
      offersHistory = false;
    }
  }
  return get<Told[]>("/v1/usage", closing);
}

function take(told: Told[]): void {
  const now = Date.now();
  const wasPause = now - lastAnswer > PAUSE_MS;
  const present = new Set<string>();
  for (const one of told) {
    present.add(one.id);
    if (one.trouble) troubles.set(one.id, one.trouble);
    else troubles.delete(one.id);
    if (!one.usage) continue;
    const kept = usageOf(one.id) as Signal<readonly Sample[]>;
    const before = one.history ? broughtHere(one.history, now) : wasPause ? NONE : kept.value;
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

/** Stops one or many sessions and reports the outcome of each. */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";

import { BY, post, segment } from "../api/http.ts";
import type { SessionView, StopResponse, StopRequest } from "../api/types.ts";
import { isOver, launchReference, refresh } from "../state/live.ts";
import { pluralize, duration } from "../ui/format.ts";
import { forEachConcurrently, retryWhileRestarting } from "./concurrent.ts";

/** The time between SIGTERM and SIGKILL: each session’s own setting, a number of seconds, or none. */
export type Grace = { kind: "own" } | { kind: "seconds"; seconds: number } | { kind: "now" };

/** The progress of stopping one session. */
export type Progress =
  | { state: "waiting" }
  /** The launch being stopped, once it is known. A later launch must not be stopped by this request. */
  | { state: "stopping"; launch: string | null }
  | { state: "answered"; answer: StopResponse }
  | { state: "failed"; error: unknown };

/** A session to stop. */
export interface Stop {
  session: SessionView;
  /** How many processes its pen held before the stop; null if unknown. */
  processes: number | null;
  progress: ReadonlySignal<Progress>;
}

export function canStop(session: SessionView): boolean {
  return !isOver(session);
}

export function request(grace: Grace): StopRequest {
  switch (grace.kind) {
    case "own":
      return { by: BY };
    case "seconds":
      return { by: BY, grace_ms: grace.seconds * 1000 };
    case "now":
      return { by: BY, now: true };
  }
}

/** A running stop: the progress of each session, and the overall outcome. */
export interface Stopping {
  stops: Stop[];
  done: Promise<Outcome>;
}

/** How long the daemon may wait before it answers. The first wait is short, so that every session receives the request early. */
const FIRST_MS = 150;
const THEN_MS = 1000;
/** How long after the grace period to report a session as still alive. */
const BEYOND_GRACE_MS = 30_000;

/** Begins to stop the sessions. The stop continues when the dialog is closed. */
export function stop(sessions: readonly { session: SessionView; processes: number | null }[], grace: Grace): Stopping {
  const startedAt = Date.now();
  const stops = sessions.map((one) => ({ ...one, progress: signal<Progress>({ state: "waiting" }) }));
  const poll = (one: (typeof stops)[number], waitMs: number) => carryOut(one.session, one.progress, grace, startedAt, waitMs);
  const all = async () => {
    await forEachConcurrently(stops, (one) => poll(one, FIRST_MS));
    for (;;) {
      const open = stops.filter(({ progress }) => progress.value.state === "stopping");
      if (open.length === 0) return;
      await forEachConcurrently(open, (one) => poll(one, THEN_MS));
    }
  };
  const results = () => stops.map(({ processes, progress }) => ({ processes, progress: progress.value }));
  return { stops, done: all().then(() => outcome(results(), Date.now() - startedAt)) };
}

/** Sends the stop request and updates the progress from the answer. */
async function carryOut(session: SessionView, progress: Signal<Progress>, grace: Grace, startedAt: number, waitMs: number): Promise<void> {
  const launch = progress.value.state === "stopping" ? progress.value.launch : null;
  progress.value = { state: "stopping", launch };
  try {
    const answer = await ask(launch ?? session.session, { ...request(grace), wait_ms: waitMs });
    const passed = Date.now() - startedAt;
    if (isOpen(answer, graceMs(session, grace) + BEYOND_GRACE_MS - passed)) {
      progress.value = { state: "stopping", launch: launchReference(answer.session.id) };
      return;
    }
    // It was alive at the first request, so this stop ended it.
    const ended = launch !== null && answer.result === "already_gone";
    progress.value = { state: "answered", answer: ended ? { ...answer, result: "stopped", took_ms: passed } : answer };
  } catch (error) {
    progress.value = { state: "failed", error };
  }
  refresh(session.id);
}

/** Whether to keep waiting: no survivor is known yet, and there is time left. */
export function isOpen(answer: StopResponse, leftMs: number): boolean {
  return answer.result === "still_alive" && answer.survivors.length === 0 && leftMs > 0;
}

function graceMs({ spec }: SessionView, grace: Grace): number {
  if (grace.kind === "own") return spec.grace_ms;
  return grace.kind === "now" ? 0 : grace.seconds * 1000;
}

function ask(reference: string, how: StopRequest): Promise<StopResponse> {
  // A stop request is safe to repeat.
  return retryWhileRestarting(() => post<StopResponse>(`/v1/sessions/${segment(reference)}/stop`, how));
}

/** The overall outcome, shown when every session is done. */
export interface Outcome {
  tone: "good" | "warn" | "bad";
  text: string;
}

/** Returns one line: `3 sessions stopped, 14 processes ended, pens empty, 0.3 s`. */
export function outcome(results: readonly { processes: number | null; progress: Progress }[], tookMs: number): Outcome {
  const answered = results.flatMap(({ processes, progress }) => (progress.state === "answered" ? [{ processes, ...progress.answer }] : []));
  const of = (result: string) => answered.filter((answer) => answer.result === result);
  const [stopped, gone, alive] = [of("stopped"), of("already_gone"), of("still_alive")];
  const failed = results.filter(({ progress }) => progress.state === "failed").length;
  const parts: string[] = [];
  if (stopped.length > 0) {
    parts.push(`${pluralize(stopped.length, "session")} stopped`);
    // The number of processes is shown only if it is known for every session.
    const ended = stopped.reduce<number | null>((sum, { processes }) => (sum === null || processes === null ? null : sum + processes), 0);
    if (ended) parts.push(`${pluralize(ended, "process", "processes")} ended`);
    const pens = stopped.filter(({ session }) => session.pen !== null).length;
    if (pens > 0) parts.push(pens === 1 ? "pen empty" : "pens empty");
  }
  if (gone.length > 0) parts.push(gone.length === results.length ? `${gone.length === 1 ? "The session had" : "All sessions had"} already ended` : `${gone.length} already ended`);
  if (alive.length > 0) {
    const survivors = alive.reduce((sum, answer) => sum + answer.survivors.length, 0);
    parts.push(`${pluralize(alive.length, "session")} still alive with ${pluralize(survivors, "process", "processes")}`);
  }
  if (failed > 0) parts.push(`${pluralize(failed, "session")} could not be stopped`);
  // For a single session, show the time that the daemon measured.
  parts.push(duration(results.length === 1 ? (answered[0]?.took_ms ?? tookMs) : tookMs));
  return { tone: alive.length > 0 ? "bad" : failed > 0 ? "warn" : "good", text: parts.join(", ") };
}

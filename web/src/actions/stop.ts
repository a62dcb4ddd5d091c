/** Stopping sessions: many at once, and the honest outcome of each. */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";

import { BY, post, segment } from "../api/http.ts";
import type { SessionView, StopAnswer, StopRequest } from "../api/types.ts";
import { isOver, refresh } from "../state/live.ts";
import { counted, duration } from "../ui/format.ts";
import { inLanes, overRestarts } from "./lanes.ts";

/** How long it is waited between TERM and KILL: as each session says, so many seconds, or not at all. */
export type Grace = { kind: "own" } | { kind: "seconds"; seconds: number } | { kind: "now" };

/** How far the stop of one session has come. */
export type Progress =
  | { state: "waiting" }
  | { state: "stopping" }
  | { state: "told"; answer: StopAnswer }
  | { state: "failed"; error: unknown };

/** A session that is to be stopped. */
export interface Stop {
  session: SessionView;
  /** How many processes were seen in its pen before; none: nobody knows. */
  processes: number | null;
  progress: ReadonlySignal<Progress>;
}

/** What can be stopped: whatever is not over. */
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

/** A stop that has begun: how it goes for each, and what came of all of them. */
export interface Stopping {
  stops: Stop[];
  done: Promise<Outcome>;
}

/** Begins to stop them. It goes on if nobody looks any more. */
export function stop(sessions: readonly { session: SessionView; processes: number | null }[], grace: Grace): Stopping {
  const begun = Date.now();
  const stops = sessions.map((one) => ({ ...one, progress: signal<Progress>({ state: "waiting" }) }));
  const all = inLanes(stops, (one) => carryOut(one.session, one.progress, request(grace)));
  const told = () => stops.map(({ processes, progress }) => ({ processes, progress: progress.value }));
  return { stops, done: all.then(() => outcome(told(), Date.now() - begun)) };
}

async function carryOut(session: SessionView, progress: Signal<Progress>, how: StopRequest): Promise<void> {
  progress.value = { state: "stopping" };
  try {
    progress.value = { state: "told", answer: await ask(session, how) };
  } catch (error) {
    progress.value = { state: "failed", error };
  }
  refresh(session.id);
}

function ask(session: SessionView, how: StopRequest): Promise<StopAnswer> {
  // To ask twice for a stop does no harm.
  return overRestarts(() => post<StopAnswer>(`/v1/sessions/${segment(session.session)}/stop`, how));
}

/** What came of them, all together, once all is told. */
export interface Outcome {
  tone: "good" | "warn" | "bad";
  text: string;
}

/** In one line: `3 sessions stopped, 14 processes ended, pens empty, 0.3 s`. */
export function outcome(told: readonly { processes: number | null; progress: Progress }[], tookMs: number): Outcome {
  const answered = told.flatMap(({ processes, progress }) => (progress.state === "told" ? [{ processes, ...progress.answer }] : []));
  const of = (result: string) => answered.filter((answer) => answer.result === result);
  const [stopped, gone, alive] = [of("stopped"), of("already_gone"), of("still_alive")];
  const failed = told.filter(({ progress }) => progress.state === "failed").length;
  const parts: string[] = [];
  if (stopped.length > 0) {
    parts.push(`${counted(stopped.length, "session")} stopped`);
    // Where nobody has counted, nothing is said.
    const ended = stopped.reduce<number | null>((sum, { processes }) => (sum === null || processes === null ? null : sum + processes), 0);
    if (ended) parts.push(`${counted(ended, "process", "processes")} ended`);
    const pens = stopped.filter(({ session }) => session.pen !== null).length;
    if (pens > 0) parts.push(pens === 1 ? "pen empty" : "pens empty");
  }
  if (gone.length > 0) parts.push(gone.length === told.length ? `${gone.length === 1 ? "It was" : "All were"} gone already` : `${gone.length} gone already`);
  if (alive.length > 0) {
    const survivors = alive.reduce((sum, answer) => sum + answer.survivors.length, 0);
    parts.push(`${counted(alive.length, "session")} still alive with ${counted(survivors, "process", "processes")}`);
  }
  if (failed > 0) parts.push(`${counted(failed, "session")} could not be asked to stop`);
  parts.push(duration(tookMs));
  return { tone: alive.length > 0 ? "bad" : failed > 0 ? "warn" : "good", text: parts.join(", ") };
}

/** Stopping sessions: many at once, and the honest outcome of each. */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";

import { BY, post, segment } from "../api/http.ts";
import type { SessionView, StopAnswer, StopRequest } from "../api/types.ts";
import { isOver, launchReference, refresh } from "../state/live.ts";
import { counted, duration } from "../ui/format.ts";
import { inLanes, overRestarts } from "./lanes.ts";

/** How long it is waited between TERM and KILL: as each session says, so many seconds, or not at all. */
export type Grace = { kind: "own" } | { kind: "seconds"; seconds: number } | { kind: "now" };

/** How far the stop of one session has come. */
export type Progress =
  | { state: "waiting" }
  /** The launch that was asked to end, once that is known: one that follows it is another's. */
  | { state: "stopping"; launch: string | null }
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

/** How long an answer may take: at first, so that all are asked before any is waited for, and then. */
const FIRST_MS = 150;
const THEN_MS = 1000;
/** What may come after the grace before it is said that somebody is left. */
const BEYOND_GRACE_MS = 30_000;

/** Begins to stop them. It goes on if nobody looks any more. */
export function stop(sessions: readonly { session: SessionView; processes: number | null }[], grace: Grace): Stopping {
  const begun = Date.now();
  const stops = sessions.map((one) => ({ ...one, progress: signal<Progress>({ state: "waiting" }) }));
  const look = (one: (typeof stops)[number], waitMs: number) => carryOut(one.session, one.progress, grace, begun, waitMs);
  const all = async () => {
    await inLanes(stops, (one) => look(one, FIRST_MS));
    for (;;) {
      const open = stops.filter(({ progress }) => progress.value.state === "stopping");
      if (open.length === 0) return;
      await inLanes(open, (one) => look(one, THEN_MS));
    }
  };
  const told = () => stops.map(({ processes, progress }) => ({ processes, progress: progress.value }));
  return { stops, done: all().then(() => outcome(told(), Date.now() - begun)) };
}

/** Asks for the stop, and whether it is over by now. */
async function carryOut(session: SessionView, progress: Signal<Progress>, grace: Grace, begun: number, waitMs: number): Promise<void> {
  const launch = progress.value.state === "stopping" ? progress.value.launch : null;
  progress.value = { state: "stopping", launch };
  try {
    const answer = await ask(launch ?? session.session, { ...request(grace), wait_ms: waitMs });
    const passed = Date.now() - begun;
    if (isOpen(answer, graceMs(session, grace) + BEYOND_GRACE_MS - passed)) {
      progress.value = { state: "stopping", launch: launchReference(answer.session.id) };
      return;
    }
    // It was alive when it was first asked to end: so it is this stop that has ended it.
    const ended = launch !== null && answer.result === "already_gone";
    progress.value = { state: "told", answer: ended ? { ...answer, result: "stopped", took_ms: passed } : answer };
  } catch (error) {
    progress.value = { state: "failed", error };
  }
  refresh(session.id);
}

/** Whether it may still end: nobody is known to resist, and there is time left. */
export function isOpen(answer: StopAnswer, leftMs: number): boolean {
  return answer.result === "still_alive" && answer.survivors.length === 0 && leftMs > 0;
}

function graceMs({ spec }: SessionView, grace: Grace): number {
  if (grace.kind === "own") return spec.grace_ms;
  return grace.kind === "now" ? 0 : grace.seconds * 1000;
}

function ask(reference: string, how: StopRequest): Promise<StopAnswer> {
  // To ask twice for a stop does no harm.
  return overRestarts(() => post<StopAnswer>(`/v1/sessions/${segment(reference)}/stop`, how));
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
  // Of one, it is the daemon's own word.
  parts.push(duration(told.length === 1 ? (answered[0]?.took_ms ?? tookMs) : tookMs));
  return { tone: alive.length > 0 ? "bad" : failed > 0 ? "warn" : "good", text: parts.join(", ") };
}

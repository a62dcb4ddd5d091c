import { type Frame, Frames } from "./frames.ts";
import { get, Refusal, refusalOf } from "./http.ts";
import { Incoming } from "./sockets.ts";
import type { Problem } from "./types.ts";

/** What is done with a stream of events. */
export interface Handlers {
  /** All that came at once. */
  frames(frames: Frame[]): void;
  /** It is open; `again` if it was before. */
  opened?(again: boolean): void;
  /** It was lost, and is asked for again. */
  lost?(): void;
  /** It is refused for good, or over (null). */
  ended?(why: Refusal | null): void;
}

const SOON_MS = 100;
const LATE_MS = 3000;
/** The daemon says that it is alive every 15 s. */
const SILENCE_MS = 40_000;

/**
 * Follows a stream of events over restarts of the daemon. A browser's own `EventSource` gives up for good at the first
 * refusal, waits for seconds before it comes back, and hears only kinds that it knows beforehand.
 *
 * It ends at an event of the kind `last`, if that is given. Returns what closes it.
 */
export function follow(path: string, handlers: Handlers, last?: string): () => void {
  const closing = new AbortController();
  void run(path, handlers, last, closing.signal);
  return () => closing.abort();
}

async function run(path: string, handlers: Handlers, last: string | undefined, closing: AbortSignal): Promise<void> {
  let pause = SOON_MS;
  let lastId: string | null = null;
  let again = false;
  while (!closing.aborted) {
    try {
      for await (const frames of open(path, lastId, closing, () => {
        handlers.opened?.(again);
        again = true;
        pause = SOON_MS;
      })) {
        lastId = frames.findLast((frame) => frame.id !== null)?.id ?? lastId;
        handlers.frames(frames);
        if (last !== undefined && frames.some((frame) => frame.kind === last)) return handlers.ended?.(null);
      }
    } catch (error) {
      if (closing.aborted) return;
      if (error instanceof Over) return handlers.ended?.(null);
      if (error instanceof Refusal && !error.passes && error.status !== 429) return handlers.ended?.(error);
    }
    if (closing.aborted) return;
    handlers.lost?.();
    await elapsed(pause, closing);
    pause = Math.min(pause * 2, LATE_MS);
  }
}

/** The stream has no more to tell. */
class Over extends Error {}

async function* open(
  path: string,
  lastId: string | null,
  closing: AbortSignal,
  opened: () => void,
): AsyncGenerator<Frame[]> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const signal = AbortSignal.any([closing, silence.signal]);
  let incoming: Incoming | null = null;
  try {
    const since = lastId === null ? "" : `${path.includes("?") ? "&" : "?"}last_event_id=${encodeURIComponent(lastId)}`;
    incoming = await Incoming.open(path + since, signal);
    if (!incoming) throw await whyNot(closing);
    const decoder = new TextDecoder();
    const frames = new Frames();
    let isOpen = false;
    for (;;) {
      const came = await incoming.next();
      if (!came || closing.aborted) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const whole = frames.push(came.map((piece) => decoder.decode(piece, { stream: true })).join(""));
      const refused = whole.find((frame) => frame.kind === "refused");
      if (refused) throw refusedFor(refused);
      // The first words say that it is a stream.
      if (!isOpen) opened();
      isOpen = true;
      if (whole.length > 0) yield whole;
    }
  } finally {
    clearTimeout(timer);
    incoming?.close();
  }
}

/** A browser does not say why there is no WebSocket: it may be that we are not let in any more, which is said elsewhere. */
async function whyNot(closing: AbortSignal): Promise<Refusal> {
  try {
    await get("/v1/access/me", closing);
  } catch (error) {
    if (error instanceof Refusal) return error;
  }
  return new Refusal(0, "unreachable", "The daemon does not answer.");
}

function refusedFor(frame: Frame): Error {
  const problem = JSON.parse(frame.data) as Partial<Problem> & { status: number };
  return problem.status === 204 ? new Over() : refusalOf(problem.status, problem.code === undefined ? null : (problem as Problem));
}

function elapsed(milliseconds: number, closing: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      closing.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    closing.addEventListener("abort", done);
  });
}

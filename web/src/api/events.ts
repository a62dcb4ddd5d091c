import { type Frame, Frames } from "./frames.ts";
import { ask, Refusal } from "./http.ts";

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
  try {
    const signal = AbortSignal.any([closing, silence.signal]);
    const headers = lastId === null ? {} : { "Last-Event-ID": lastId };
    const response = await ask("GET", path, { signal, accept: "text/event-stream", headers });
    if (response.status === 204 || !response.body) throw new Over();
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const frames = new Frames();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const whole = frames.push(value);
      if (whole.length > 0) yield whole;
    }
  } finally {
    clearTimeout(timer);
  }
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

import { type Frame, Frames } from "./frames.ts";
import { get, ApiError, apiErrorFrom } from "./http.ts";
import { Incoming } from "./sockets.ts";
import type { ProblemDetails } from "./types.ts";

/** Callbacks for an event stream. */
export interface Handlers {
  /** Called with every event of one message. */
  frames(frames: Frame[]): void;
  /** The stream is open; `isReconnect` if it was open before. */
  opened?(isReconnect: boolean): void;
  /** The connection was lost and will be reopened. */
  lost?(): void;
  /** The stream was refused with this error, or has ended (null). */
  ended?(why: ApiError | null): void;
}

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 3000;
/** The daemon sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;

/**
 * Follows an event stream across daemon restarts. The browser's `EventSource` does not fit: it gives up at the first error
 * response, waits for seconds before it reconnects, and only delivers event kinds that were registered before.
 *
 * The stream ends at an event of the kind `last`, if given. Returns a function that closes it.
 */
export function follow(path: string, handlers: Handlers, last?: string): () => void {
  const closing = new AbortController();
  void run(path, handlers, last, closing.signal);
  return () => closing.abort();
}

async function run(path: string, handlers: Handlers, last: string | undefined, closing: AbortSignal): Promise<void> {
  let pause = FIRST_RETRY_MS;
  let lastId: string | null = null;
  let isReconnect = false;
  while (!closing.aborted) {
    try {
      for await (const frames of open(path, lastId, closing, () => {
        handlers.opened?.(isReconnect);
        isReconnect = true;
        pause = FIRST_RETRY_MS;
      })) {
        lastId = frames.findLast((frame) => frame.id !== null)?.id ?? lastId;
        handlers.frames(frames);
        if (last !== undefined && frames.some((frame) => frame.kind === last)) return handlers.ended?.(null);
      }
    } catch (error) {
      if (closing.aborted) return;
      if (error instanceof StreamEnded) return handlers.ended?.(null);
      if (error instanceof ApiError && !error.isTransient && error.status !== 429) return handlers.ended?.(error);
    }
    if (closing.aborted) return;
    handlers.lost?.();
    await elapsed(pause, closing);
    pause = Math.min(pause * 2, MAX_RETRY_MS);
  }
}

/** The stream has ended: the daemon has no more events for it. */
class StreamEnded extends Error {}

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
    if (!incoming) throw await connectError(closing);
    const decoder = new TextDecoder();
    const frames = new Frames();
    let isOpen = false;
    for (;;) {
      const received = await incoming.next();
      if (!received || closing.aborted) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const whole = frames.push(received.map((piece) => decoder.decode(piece, { stream: true })).join(""));
      const refused = whole.find((frame) => frame.kind === "refused");
      if (refused) throw errorFromFrame(refused);
      // The first message shows that this is a stream.
      if (!isOpen) opened();
      isOpen = true;
      if (whole.length > 0) yield whole;
    }
  } finally {
    clearTimeout(timer);
    incoming?.close();
  }
}

/** Requests another endpoint to find out whether this browser was signed out: browsers hide why a WebSocket failed. */
async function connectError(closing: AbortSignal): Promise<ApiError> {
  try {
    await get("/v1/access/me", closing);
  } catch (error) {
    if (error instanceof ApiError) return error;
  }
  return new ApiError(0, "unreachable", "The daemon is not responding.");
}

function errorFromFrame(frame: Frame): Error {
  const problem = JSON.parse(frame.data) as Partial<ProblemDetails> & { status: number };
  return problem.status === 204 ? new StreamEnded() : apiErrorFrom(problem.status, problem.code === undefined ? null : (problem as ProblemDetails));
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

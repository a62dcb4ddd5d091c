import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { KennelNotStarted, KennelProblem, KennelSurvivors, KennelUnreachable } from "./errors.js";
import type { CreateRequest, Operations, SessionView } from "./generated.js";
import type { Transport } from "./transport.js";

/** The state of a new session at which the request is answered. */
export type Until = NonNullable<Operations["createSession"]["query"]["until"]>;

/** How often a session is requested again when its launch was cancelled. */
const MAX_ATTEMPTS = 5;
/** The exit code of an internal failure of Kennel, as on the command line. */
const INTERNAL_FAILURE = 207;
/** How often to check whether a requested session exists yet, in milliseconds. */
const POLL_MS = 20;

/** A session, and whether this request has created it. */
export interface Created {
  view: SessionView;
  ours: boolean;
}

/** The name of this client in the event log. */
export function actor(): string {
  return `@kennel/client (pid ${process.pid})`;
}

/**
 * Creates a session. The request has an idempotency key, so that a repeated request returns the same session. After an abort, the
 * session that it has created or is about to create is stopped before this rejects.
 */
export async function create(
  transport: Transport,
  request: CreateRequest,
  until: Until,
  signal: AbortSignal | undefined,
): Promise<Created> {
  signal?.throwIfAborted();
  // A unique actor identifies the session of this request: another request may have used the same key.
  const asked_by = `${actor()} ${randomUUID()}`;
  const body = { ...request, key: request.key ?? randomUUID(), asked_by };
  const ours = (view: SessionView) => view.spec.asked_by === asked_by;
  for (let attempt = 1; ; attempt++) {
    // The caller’s signal must not cut the connection: then it would be unknown whether the request arrived.
    const connection = new AbortController();
    const answer = transport.call("createSession", {
      query: { until },
      body,
      repeat: "safe",
      signal: connection.signal,
    });
    const view = await unlessAborted(answer, signal);
    if (!view) {
      await cancelCreate(transport, body.key, answer, ours).finally(() => connection.abort());
      throw signal?.reason;
    }
    if (!ours(view)) return { view, ours: false };
    if (!wasNeverLaunched(view)) {
      if (view.exit?.kind === "never_ran" && view.reason?.kind === "failed") throw new KennelNotStarted(view);
      return { view, ours: true };
    }
    if (attempt === MAX_ATTEMPTS) throw new KennelNotStarted(view);
    // Removing the session frees its key.
    await remove(transport, view.session);
  }
}

/** Whether the daemon or keeper died before the command ran, so that it is safe to request the session again. */
function wasNeverLaunched({ exit, reason }: SessionView): boolean {
  if (exit?.kind !== "never_ran") return false;
  return reason?.kind === "keeper_died" || (reason?.kind === "failed" && reason.code === INTERNAL_FAILURE);
}

async function remove(transport: Transport, reference: string): Promise<void> {
  await transport.call("removeSession", { path: { reference }, repeat: "safe" }).catch((error: unknown) => {
    // A previous request may already have removed it.
    if (!(error instanceof KennelProblem && error.code === "not_found")) throw error;
  });
}

/** Returns the result, or undefined if the signal aborts first. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (!signal) return promise;
  if (signal.aborted) return undefined;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (onAbort) signal.removeEventListener("abort", onAbort);
  }
}

/** Stops the session that a request has created or is about to create. */
async function cancelCreate(
  transport: Transport,
  key: string,
  answer: Promise<SessionView>,
  ours: (view: SessionView) => boolean,
): Promise<void> {
  const settled = answer.then(
    (view) => ({ view }),
    (error: unknown) => ({ error }),
  );
  for (;;) {
    const page = await transport.call("listSessions", { query: { key, all: true } });
    const made = page.sessions.find(ours);
    if (made) {
      await stopOrThrow(transport, made.session);
      return;
    }
    // The session belongs to another request with the same key: leave it alone.
    if (page.sessions.some(({ phase }) => phase !== "cleaned")) return;
    // The request has not been processed yet, or it was refused.
    const result = await Promise.race([settled, sleep(POLL_MS)]);
    if (!result) continue;
    if ("view" in result) {
      if (ours(result.view)) await stopOrThrow(transport, result.view.session);
      return;
    }
    // Refused: there is no session. Unreachable: the outcome is unknown, so report that to the caller.
    if (result.error instanceof KennelUnreachable && result.error.reached === "maybe") throw result.error;
    return;
  }
}

/** Stops a session; throws if processes are left. */
export async function stopOrThrow(transport: Transport, reference: string): Promise<SessionView> {
  const stopped = await transport.call("stopSession", { path: { reference }, body: { by: actor() }, repeat: "safe" });
  if (stopped.result === "still_alive") throw new KennelSurvivors(reference, stopped.survivors);
  return stopped.session;
}

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { KennelNotStarted, KennelProblem, KennelSurvivors, KennelUnreachable } from "./errors.js";
import type { CreateRequest, Operations, SessionView } from "./generated.js";
import type { Transport } from "./transport.js";

/** How far a new session has come when whoever asked for it gets the answer. */
export type Until = NonNullable<Operations["createSession"]["query"]["until"]>;

/** How often what was called off is asked for again. */
const MOST_TRIES = 5;
/** A fault in Kennel itself, in the codes of the command line. */
const CALLED_OFF = 207;
/** Between looks for a session that is about to be. */
const LOOK_AGAIN = 20;

/** A session, and whether this very request has made it. */
export interface Created {
  view: SessionView;
  ours: boolean;
}

/** Who asks, for the event log. */
export function asker(): string {
  return `@kennel/client (pid ${process.pid})`;
}

/**
 * Asks for a session. The request has a key, so that it is the same session if it has to be asked for again. If it is
 * aborted on the way, whatever it has made, or is about to make, is stopped, and seen to be gone.
 */
export async function create(
  transport: Transport,
  request: CreateRequest,
  until: Until,
  signal: AbortSignal | undefined,
): Promise<Created> {
  signal?.throwIfAborted();
  // By who asks it is known which session is this request's own: somebody else may have asked with the same key.
  const asked_by = `${asker()} ${randomUUID()}`;
  const body = { ...request, key: request.key ?? randomUUID(), asked_by };
  const ours = (view: SessionView) => view.spec.asked_by === asked_by;
  for (let tries = 1; ; tries++) {
    // The caller's signal does not cut it off: nobody would know then whether it was heard.
    const letGo = new AbortController();
    const answer = transport.call("createSession", {
      query: { until },
      body,
      repeat: "safe",
      signal: letGo.signal,
    });
    const view = await unlessAborted(answer, signal);
    if (!view) {
      await withdraw(transport, body.key, answer, ours).finally(() => letGo.abort());
      throw signal?.reason;
    }
    if (!ours(view)) return { view, ours: false };
    if (!wasCalledOff(view)) {
      if (view.exit?.kind === "never_ran" && view.reason?.kind === "failed") throw new KennelNotStarted(view);
      return { view, ours: true };
    }
    if (tries === MOST_TRIES) throw new KennelNotStarted(view);
    // The key is free then.
    await remove(transport, view.session);
  }
}

/** Whether it did not come to run since its daemon was lost over it: so it may be asked for again. */
function wasCalledOff({ exit, reason }: SessionView): boolean {
  if (exit?.kind !== "never_ran") return false;
  return reason?.kind === "keeper_died" || (reason?.kind === "failed" && reason.code === CALLED_OFF);
}

async function remove(transport: Transport, reference: string): Promise<void> {
  await transport.call("removeSession", { path: { reference }, repeat: "safe" }).catch((error: unknown) => {
    // It is gone already if the former request for it was heard.
    if (!(error instanceof KennelProblem && error.code === "not_found")) throw error;
  });
}

/** What comes of it, or nothing if it is aborted before. */
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

/** Ends what a request has made or is about to make. */
async function withdraw(
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
      await stopWholly(transport, made.session);
      return;
    }
    // It has become somebody else's, who asked with the same key: that one goes on.
    if (page.sessions.some(({ phase }) => phase !== "cleaned")) return;
    // Nobody has heard of it yet, or it was refused.
    const come = await Promise.race([settled, sleep(LOOK_AGAIN)]);
    if (!come) continue;
    if ("view" in come) {
      if (ours(come.view)) await stopWholly(transport, come.view.session);
      return;
    }
    // Refused: there is nothing. Unreachable: nobody knows, which whoever aborted has to hear.
    if (come.error instanceof KennelUnreachable && come.error.reached === "maybe") throw come.error;
    return;
  }
}

/** Stops a session; throws if something of it is left. */
export async function stopWholly(transport: Transport, reference: string): Promise<SessionView> {
  const stopped = await transport.call("stopSession", { path: { reference }, body: { by: asker() }, repeat: "safe" });
  if (stopped.result === "still_alive") throw new KennelSurvivors(reference, stopped.survivors);
  return stopped.session;
}

/** Removes the records of sessions that have ended. */
import { type ReadonlySignal, signal } from "@preact/signals";

import { ApiError, remove, segment } from "../api/http.ts";
import type { SessionView } from "../api/types.ts";
import { refreshAll } from "../state/live.ts";
import { forEachConcurrently, retryWhileRestarting } from "./concurrent.ts";

export interface Removing {
  /** How many requests are done, whether they succeeded or failed. */
  over: ReadonlySignal<number>;
  /** The sessions that were not removed, with the error. */
  refused: ReadonlySignal<readonly { session: SessionView; error: unknown }[]>;
  done: Promise<void>;
}

export function removeSessions(sessions: readonly SessionView[]): Removing {
  const over = signal(0);
  const refused = signal<readonly { session: SessionView; error: unknown }[]>([]);
  const one = async (session: SessionView) => {
    try {
      await retryWhileRestarting(() => remove(`/v1/sessions/${segment(session.session)}`));
    } catch (error) {
      // Another client has already removed it.
      const isGone = error instanceof ApiError && error.status === 404;
      if (!isGone) refused.value = [...refused.value, { session, error }];
    }
    over.value += 1;
  };
  return { over, refused, done: forEachConcurrently(sessions, one).finally(refreshAll) };
}

/** Removing sessions that have ended from the record. */
import { type ReadonlySignal, signal } from "@preact/signals";

import { Refusal, remove, segment } from "../api/http.ts";
import type { SessionView } from "../api/types.ts";
import { refreshAll } from "../state/live.ts";
import { inLanes, overRestarts } from "./lanes.ts";

export interface Removing {
  /** How many are told so far. */
  over: ReadonlySignal<number>;
  /** Those that stay, and why. */
  refused: ReadonlySignal<readonly { session: SessionView; error: unknown }[]>;
  done: Promise<void>;
}

/** Begins to remove them. */
export function removeSessions(sessions: readonly SessionView[]): Removing {
  const over = signal(0);
  const refused = signal<readonly { session: SessionView; error: unknown }[]>([]);
  const one = async (session: SessionView) => {
    try {
      await overRestarts(() => remove(`/v1/sessions/${segment(session.session)}`));
    } catch (error) {
      // It is gone, which is what was wanted.
      const isGone = error instanceof Refusal && error.status === 404;
      if (!isGone) refused.value = [...refused.value, { session, error }];
    }
    over.value += 1;
  };
  return { over, refused, done: inLanes(sessions, one).finally(refreshAll) };
}

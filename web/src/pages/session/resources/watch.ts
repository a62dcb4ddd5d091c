import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { get, Refusal, segment } from "../../../api/http.ts";
import type { SessionUsage, SessionView } from "../../../api/types.ts";
import { launchReference, onReturn } from "../../../state/live.ts";
import type { Sample } from "../../../state/samples.ts";
import { added, joined } from "./samples.ts";

const EVERY_MS = 2000;

export interface Watched {
  samples: Signal<readonly Sample[]>;
  /** Whether what was kept has been asked for, so that nothing means nothing. */
  asked: Signal<boolean>;
  /** Why it can't be told. */
  trouble: Signal<string | null>;
}

/** What a launch uses: what the daemon has kept of it, and what is seen while `isWatched`. */
export function useSamples(session: SessionView, isWatched: boolean): Watched {
  const samples = useSignal<readonly Sample[]>([]);
  const asked = useSignal(false);
  const trouble = useSignal<string | null>(null);
  const path = `/v1/sessions/${segment(launchReference(session.id))}/usage`;
  const isLive = session.ended_at === null;
  useEffect(() => {
    samples.value = [];
    asked.value = false;
    trouble.value = null;
  }, [path]);
  useEffect(() => {
    if (!isWatched) return;
    const closing = new AbortController();
    const history = async () => {
      try {
        const kept = await get<{ samples: Sample[] }>(`${path}/history`, closing.signal);
        samples.value = joined(kept.samples, samples.value);
      } catch (error) {
        // A daemon that keeps none says that there is no such place.
        if (!(error instanceof Refusal)) return;
      }
      asked.value = true;
    };
    const look = async () => {
      try {
        const { usage, trouble: why } = await get<SessionUsage>(path, closing.signal);
        trouble.value = why ?? null;
        if (usage) samples.value = added(samples.value, { at_ms: Date.now(), ...usage });
      } catch {
        // The connection's state says it; what was seen stays.
      }
    };
    void history().then(() => (isLive ? look() : undefined));
    const timer = isLive ? setInterval(() => document.hidden || void look(), EVERY_MS) : undefined;
    const back = onReturn(() => void history());
    return () => {
      closing.abort();
      clearInterval(timer);
      back();
    };
  }, [path, isWatched, isLive]);
  return { samples, asked, trouble };
}

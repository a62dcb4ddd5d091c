import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { get, ApiError, segment } from "../../../api/http.ts";
import type { SessionUsage, SessionView } from "../../../api/types.ts";
import { launchReference, onReconnected } from "../../../state/live.ts";
import type { Sample } from "../../../state/samples.ts";
import { added, joined } from "./samples.ts";

const EVERY_MS = 2000;

export interface Watched {
  samples: Signal<readonly Sample[]>;
  /** Whether the recorded samples were loaded, so that an empty list means that there are none. */
  isLoaded: Signal<boolean>;
  /** Why usage is unknown. */
  trouble: Signal<string | null>;
}

/** Loads the recorded usage of a launch, and polls it while `isWatched`. */
export function useSamples(session: SessionView, isWatched: boolean): Watched {
  const samples = useSignal<readonly Sample[]>([]);
  const isLoaded = useSignal(false);
  const trouble = useSignal<string | null>(null);
  const path = `/v1/sessions/${segment(launchReference(session.id))}/usage`;
  const isLive = session.ended_at === null;
  useEffect(() => {
    samples.value = [];
    isLoaded.value = false;
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
        // A daemon that records no usage answers 404.
        if (!(error instanceof ApiError)) return;
      }
      isLoaded.value = true;
    };
    const poll = async () => {
      try {
        const { usage, trouble: why } = await get<SessionUsage>(path, closing.signal);
        trouble.value = why ?? null;
        if (usage) samples.value = added(samples.value, { at_ms: Date.now(), ...usage });
      } catch {
        // The connection state shows the error; the samples stay.
      }
    };
    void history().then(() => (isLive ? poll() : undefined));
    const timer = isLive ? setInterval(() => document.hidden || void poll(), EVERY_MS) : undefined;
    const unsubscribe = onReconnected(() => void history());
    return () => {
      closing.abort();
      clearInterval(timer);
      unsubscribe();
    };
  }, [path, isWatched, isLive]);
  return { samples, isLoaded, trouble };
}

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { ReadyView } from "../../api/types.ts";
import { onReconnected } from "../../state/live.ts";
import { Badge } from "../../ui/badge.tsx";
import { bytes, duration } from "../../ui/format.ts";
import { meanMs, read, SHOWN } from "./metrics.ts";

const EVERY_MS = 5000;

/** The label of each readiness check. */
const CHECKS: Record<string, string> = {
  register: "The register accepts writes",
  owner: "The owner task responds",
  adoption: "Sessions of the previous daemon are recovered",
  yard: "The yard, which starts keepers, is running",
  serving: "The daemon is not shutting down",
  room: "The machine has resources for another session",
};

/** Polls an endpoint outside the typed API while the page is visible. Ignores responses with other statuses. */
function usePolled(path: string, statuses: number[], take: (response: Response) => Promise<void>): void {
  useEffect(() => {
    const closing = new AbortController();
    const poll = async () => {
      try {
        const response = await fetch(path, { signal: closing.signal, cache: "no-store", credentials: "same-origin" });
        if (statuses.includes(response.status)) await take(response);
      } catch {
        // The last value stays; the connection state shows the error.
      }
    };
    void poll();
    const timer = setInterval(() => document.hidden || void poll(), EVERY_MS);
    const unsubscribe = onReconnected(() => void poll());
    return () => {
      closing.abort();
      clearInterval(timer);
      unsubscribe();
    };
  }, [path]);
}

/** Shows the readiness checks of the daemon. */
export function Readiness() {
  const ready = useSignal<ReadyView | null>(null);
  // A 503 response also has the list of checks.
  usePolled("/readyz", [200, 503], async (response) => void (ready.value = (await response.json()) as ReadyView));
  return (
    <section class="card" aria-labelledby="doctor-ready">
      <header>
        <h2 id="doctor-ready" class="grow">
          Readiness
        </h2>
        {ready.value && <Badge tone={ready.value.ready ? "good" : "bad"} word={ready.value.ready ? "ready" : "not ready"} />}
      </header>
      <ul class="findings">
        {(ready.value?.checks ?? []).map((check) => (
          <li key={check.name}>
            <Badge tone={check.passed ? "good" : "bad"} word={check.passed ? "passed" : "failed"} />
            <span>
              {CHECKS[check.name] ?? check.name}
              {check.why && <span class="muted foreign">: {check.why}</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Shows selected metrics since the start of the daemon. */
export function Metrics() {
  const figures = useSignal<Map<string, number> | null>(null);
  usePolled("/metrics", [200], async (response) => void (figures.value = read(await response.text())));
  const all = figures.value;
  if (!all) return null;
  const shown = (it: (typeof SHOWN)[number]): string => {
    if (it.kind === "mean_ms") {
      const mean = meanMs(all, it.name);
      return mean === null ? "none yet" : `${duration(Math.max(mean, 1))} on average`;
    }
    const value = all.get(it.name) ?? 0;
    if (it.kind === "bytes") return bytes(value);
    return it.kind === "seconds" ? duration(value * 1000) : value.toLocaleString("en");
  };
  return (
    <section class="card" aria-labelledby="doctor-figures">
      <header>
        <h2 id="doctor-figures">Metrics</h2>
      </header>
      <dl class="figures">
        {SHOWN.map((it) => (
          <div key={it.name} class={it.alarm && (all.get(it.name) ?? 0) > 0 ? "alarm" : undefined}>
            <dt>{it.title}</dt>
            <dd>{shown(it)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

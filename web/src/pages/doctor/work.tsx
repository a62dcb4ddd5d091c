import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { ReadyView } from "../../api/types.ts";
import { onReturn } from "../../state/live.ts";
import { Badge } from "../../ui/badge.tsx";
import { bytes, duration } from "../../ui/format.ts";
import { meanMs, read, SHOWN } from "./figures.ts";

const EVERY_MS = 5000;

/** What each check of the daemon's readiness means. */
const CHECKS: Record<string, string> = {
  register: "A write to the register is taken now",
  owner: "The task that owns all sessions answers",
  adoption: "Every session of a former daemon was looked at",
  yard: "The yard, which starts keepers, is there",
  serving: "The daemon is not leaving",
  room: "The machine has what another session needs",
};

/** Asks for something that is not among the API's own shapes, at an interval while somebody looks. */
function usePolled(path: string, answers: number[], take: (response: Response) => Promise<void>): void {
  useEffect(() => {
    const closing = new AbortController();
    const look = async () => {
      try {
        const response = await fetch(path, { signal: closing.signal, cache: "no-store", credentials: "same-origin" });
        if (answers.includes(response.status)) await take(response);
      } catch {
        // What was told before stays; the connection's state says why there is nothing new.
      }
    };
    void look();
    const timer = setInterval(() => document.hidden || void look(), EVERY_MS);
    const back = onReturn(() => void look());
    return () => {
      closing.abort();
      clearInterval(timer);
      back();
    };
  }, [path]);
}

/** Whether it can do its work, check by check. */
export function Readiness() {
  const ready = useSignal<ReadyView | null>(null);
  // 503 has the list too: it says which check is not passed.
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

/** A few figures since this daemon started. */
export function Figures() {
  const figures = useSignal<Map<string, number> | null>(null);
  usePolled("/metrics", [200], async (response) => void (figures.value = read(await response.text())));
  const all = figures.value;
  if (!all) return null;
  const shown = (it: (typeof SHOWN)[number]): string => {
    if (it.kind === "mean_ms") {
      const mean = meanMs(all, it.name);
      return mean === null ? "none so far" : `${duration(Math.max(mean, 1))} on average`;
    }
    const value = all.get(it.name) ?? 0;
    if (it.kind === "bytes") return bytes(value);
    return it.kind === "seconds" ? duration(value * 1000) : value.toLocaleString("en");
  };
  return (
    <section class="card" aria-labelledby="doctor-figures">
      <header>
        <h2 id="doctor-figures">Figures</h2>
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

import { useMemo } from "preact/hooks";

import { live } from "../../state/live.ts";
import { params, setParam } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import type { Log } from "./log.ts";
import { kindLabel } from "../../ui/event-kinds.ts";
import type { EventFilter } from "./store.ts";

/** Filters the log by kind, session and text. */
export function Filters({ log, filter, search }: { log: Log; filter: EventFilter; search: { current: HTMLInputElement | null } }) {
  const kinds = useMemo(() => counts(log, filter.kinds), [log, filter.kinds]);
  const toggle = (kind: string) => {
    const next = filter.kinds.includes(kind) ? filter.kinds.filter((it) => it !== kind) : [...filter.kinds, kind];
    setParam("kind", next.join(","));
  };
  const isNarrowed = ["kind", "session", "q"].some((name) => params.value.has(name));
  return (
    <div class="event-filters">
      <div class="row wrap">
        <input
          class="input search"
          type="search"
          ref={search}
          placeholder="Search loaded events"
          aria-label="Search loaded events"
          value={params.value.get("q") ?? ""}
          onInput={(event) => setParam("q", event.currentTarget.value)}
        />
        <input
          class="input session"
          type="search"
          list="event-sessions"
          placeholder="Session name or ID"
          aria-label="Filter by session"
          value={params.value.get("session") ?? ""}
          onChange={(event) => setParam("session", event.currentTarget.value.trim())}
        />
        <datalist id="event-sessions">
          {live.value.slice(0, 200).map((session) => (
            <option key={session.id} value={session.name ?? session.id} />
          ))}
        </datalist>
        {isNarrowed && (
          <Button icon="close" kind="plain" onClick={() => ["kind", "session", "q"].forEach((name) => setParam(name, null))}>
            Clear filters
          </Button>
        )}
      </div>
      <div class="chips" role="group" aria-label="Filter by kind">
        {kinds.map(([kind, count]) => (
          <button type="button" class={`chip ${kindLabel(kind).tone}`} key={kind} aria-pressed={filter.kinds.includes(kind)} onClick={() => toggle(kind)}>
            <span class="foreign" title={kind}>{kindLabel(kind).text}</span>
            <span class="muted">{count.toLocaleString("en")}</span>
          </button>
        ))}
      </div>
    </div>
  );
}

/** Counts the loaded events by kind. Includes selected kinds even if their count is 0. */
function counts(log: Log, chosen: readonly string[]): [string, number][] {
  const found = new Map<string, number>(chosen.map((kind) => [kind, 0]));
  for (const { event } of log.entries) if (event) found.set(event.kind, (found.get(event.kind) ?? 0) + 1);
  return [...found].sort(([a], [b]) => a.localeCompare(b));
}

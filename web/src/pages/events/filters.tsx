import { useMemo } from "preact/hooks";

import { live } from "../../state/live.ts";
import { params, setParam } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import type { Log } from "./log.ts";
import { toneOf } from "./row.tsx";
import type { Wanted } from "./store.ts";

/** What is shown of the log: some kinds, one session, or what has a text in it. */
export function Filters({ log, wanted, search }: { log: Log; wanted: Wanted; search: { current: HTMLInputElement | null } }) {
  const kinds = useMemo(() => counts(log, wanted.kinds), [log, wanted.kinds]);
  const toggle = (kind: string) => {
    const next = wanted.kinds.includes(kind) ? wanted.kinds.filter((it) => it !== kind) : [...wanted.kinds, kind];
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
          placeholder="Search in what is loaded"
          aria-label="Search in the events that are loaded"
          value={params.value.get("q") ?? ""}
          onInput={(event) => setParam("q", event.currentTarget.value)}
        />
        <input
          class="input session"
          type="search"
          list="event-sessions"
          placeholder="Session: name or id"
          aria-label="Only of this session"
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
            Show all
          </Button>
        )}
      </div>
      <div class="chips" role="group" aria-label="Kinds">
        {kinds.map(([kind, count]) => (
          <button type="button" class={`chip ${toneOf(kind)}`} key={kind} aria-pressed={wanted.kinds.includes(kind)} onClick={() => toggle(kind)}>
            <span class="foreign">{kind}</span>
            <span class="muted">{count.toLocaleString("en")}</span>
          </button>
        ))}
      </div>
    </div>
  );
}

/** The kinds that are loaded, with how many there are; those that are chosen too. */
function counts(log: Log, chosen: readonly string[]): [string, number][] {
  const found = new Map<string, number>(chosen.map((kind) => [kind, 0]));
  for (const { event } of log.entries) if (event) found.set(event.kind, (found.get(event.kind) ?? 0) + 1);
  return [...found].sort(([a], [b]) => a.localeCompare(b));
}

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { told } from "../../api/http.ts";
import type { EventView } from "../../api/types.ts";
import { bind } from "../../state/keys.ts";
import { launches } from "../../state/live.ts";
import { params, setParam } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { counted } from "../../ui/format.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { Detail } from "./detail.tsx";
import { Filters } from "./filters.tsx";
import { List } from "./list.tsx";
import { type Entry, MOST } from "./log.ts";
import { nameOf } from "./row.tsx";
import { matches, type Store, useEventLog, type Wanted } from "./store.ts";
import "./events.css";

/** What has happened, and what happens. */
export function EventsPage(_: { parts: string[] }) {
  const wanted = useWanted();
  const text = (params.value.get("q") ?? "").toLowerCase();
  const store = useEventLog(wanted);
  const frozen = useSignal<readonly Entry[] | null>(null);
  const shown = useSignal<EventView | null>(null);
  const search = useRef<HTMLInputElement>(null);
  const pause = () => void (frozen.value = frozen.value ? null : store.log.value.entries);
  useLayoutEffect(
    () =>
      bind(
        { keys: "/", what: "Search", run: () => search.current?.focus() },
        { keys: " ", what: "Pause, or go on (space)", run: pause },
      ),
    [],
  );
  const all = frozen.value ?? store.log.value.entries;
  const entries = useMemo(() => all.filter((entry) => matches(entry, wanted, text, nameOf)), [all, wanted, text]);
  const waiting = frozen.value ? store.log.value.high - (frozen.value.at(-1)?.seq ?? 0) : 0;
  return (
    <div class="events">
      <div class="page-head events-head">
        <h1>Events</h1>
        <span class="muted small grow">
          {store.isLoaded.value && counted(entries.filter((it) => it.event).length, "event")}
          {frozen.value && ` · paused${waiting > 0 ? `, ${waiting.toLocaleString("en")} new` : ""}`}
        </span>
        <Copy text={() => lines(entries)} label="Copy what is shown as lines of JSON" />
        <Button icon="download" kind="plain" compact label="Download what is shown as lines of JSON" onClick={() => download(lines(entries))} />
        <Button icon={frozen.value ? "play" : "pause"} pressed={frozen.value !== null} onClick={pause}>
          {frozen.value ? "Resume" : "Pause"}
        </Button>
      </div>
      <Filters log={store.log.value} wanted={wanted} search={search} />
      {!store.isLoaded.value && store.error.value !== null && (
        <Failed what="The event log can't be read" error={store.error.value} again={store.again} />
      )}
      {!store.isLoaded.value && store.error.value === null && <Loading what="Reading the end of the event log…" />}
      {store.isLoaded.value && entries.length > 0 && (
        <List entries={entries} show={(event) => void (shown.value = event)} isLive={frozen.value === null} before={<Older store={store} />} />
      )}
      {store.isLoaded.value && entries.length === 0 && (
        <Empty icon="events" title="No such events">
          <p>Among those from number {store.log.value.low.toLocaleString("en")} on there is none. New ones appear here as they come.</p>
          <Older store={store} />
        </Empty>
      )}
      {shown.value && (
        <Detail
          event={shown.value}
          close={() => void (shown.value = null)}
          only={(kind) => {
            setParam("kind", kind);
            shown.value = null;
          }}
        />
      )}
    </div>
  );
}

/** What the address asks for. */
function useWanted(): Wanted {
  const kind = params.value.get("kind") ?? "";
  const session = params.value.get("session") ?? "";
  const ids = launchesOf(session).join(",");
  return useMemo(() => ({ kinds: kind.split(",").filter(Boolean), launches: ids.split(",").filter(Boolean) }), [kind, ids]);
}

/** All launches of a session that is named, or named by its id; what nobody knows is meant as it is. */
function launchesOf(reference: string): string[] {
  if (reference === "") return [];
  const all = [...launches.value.values()];
  const one = launches.value.get(reference) ?? all.findLast((it) => it.name === reference) ?? all.find((it) => it.id.startsWith(reference));
  if (!one) return [reference];
  return all.filter((it) => it.session === one.session).map((it) => it.id);
}

function Older({ store }: { store: Store }) {
  const { low, entries } = store.log.value;
  if (store.error.value !== null) {
    return (
      <p class="older" role="alert">
        <span class="foreign">{told(store.error.value)}</span>
      </p>
    );
  }
  if (low <= 1) return <p class="older muted small">The beginning of the log</p>;
  if (entries.length >= MOST) {
    return <p class="older muted small">No more than {MOST.toLocaleString("en")} are shown at once: choose kinds or a session for older ones</p>;
  }
  return (
    <p class="older">
      <Button compact icon="up" disabled={store.isAsking.value} onClick={store.older}>
        {store.isAsking.value ? "Looking…" : `Older than ${low.toLocaleString("en")}`}
      </Button>
    </p>
  );
}

function lines(entries: readonly Entry[]): string {
  return entries.flatMap((it) => (it.event ? [`${JSON.stringify(it.event)}\n`] : [])).join("");
}

function download(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "kennel-events.ndjson";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

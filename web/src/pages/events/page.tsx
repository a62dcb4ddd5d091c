import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { errorText } from "../../api/http.ts";
import type { EventView } from "../../api/types.ts";
import { bindShortcuts } from "../../state/shortcuts.ts";
import { launches } from "../../state/live.ts";
import { params, setParam } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { pluralize } from "../../ui/format.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { Detail } from "./detail.tsx";
import { Filters } from "./filters.tsx";
import { List } from "./list.tsx";
import { type Entry, MAX_ENTRIES } from "./log.ts";
import { nameOf } from "./row.tsx";
import { matches, type Store, useEventLog, type EventFilter } from "./store.ts";
import "./events.css";

/** The event log, live. */
export function EventsPage(_: { parts: string[] }) {
  const filter = useFilter();
  const text = (params.value.get("q") ?? "").toLowerCase();
  const store = useEventLog(filter);
  const frozen = useSignal<readonly Entry[] | null>(null);
  const shown = useSignal<EventView | null>(null);
  const search = useRef<HTMLInputElement>(null);
  const pause = () => void (frozen.value = frozen.value ? null : store.log.value.entries);
  useLayoutEffect(
    () =>
      bindShortcuts(
        { keys: "/", what: "Search", run: () => search.current?.focus() },
        { keys: " ", what: "Pause or resume (space)", run: pause },
      ),
    [],
  );
  const all = frozen.value ?? store.log.value.entries;
  const entries = useMemo(() => all.filter((entry) => matches(entry, filter, text, nameOf)), [all, filter, text]);
  const waiting = frozen.value ? store.log.value.high - (frozen.value.at(-1)?.seq ?? 0) : 0;
  return (
    <div class="events">
      <div class="page-head events-head">
        <h1>Events</h1>
        <span class="muted small grow">
          {store.isLoaded.value && pluralize(entries.filter((it) => it.event).length, "event")}
          {frozen.value && ` · paused${waiting > 0 ? `, ${waiting.toLocaleString("en")} new` : ""}`}
        </span>
        <Copy text={() => lines(entries)} label="Copy shown events as JSON lines" />
        <Button icon="download" kind="plain" compact label="Download shown events as JSON lines" onClick={() => download(lines(entries))} />
        <Button icon={frozen.value ? "play" : "pause"} pressed={frozen.value !== null} onClick={pause}>
          {frozen.value ? "Resume" : "Pause"}
        </Button>
      </div>
      <Filters log={store.log.value} filter={filter} search={search} />
      {!store.isLoaded.value && store.error.value !== null && (
        <Failed what="Couldn’t load the event log" error={store.error.value} retry={store.retry} />
      )}
      {!store.isLoaded.value && store.error.value === null && <Loading what="Loading events…" />}
      {store.isLoaded.value && entries.length > 0 && (
        <List entries={entries} show={(event) => void (shown.value = event)} isLive={frozen.value === null} before={<Older store={store} />} />
      )}
      {store.isLoaded.value && entries.length === 0 && (
        <Empty icon="events" title="No matching events">
          <p>No event since number {store.log.value.low.toLocaleString("en")} matches. New events appear here.</p>
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

/** Reads the filter from the URL. */
function useFilter(): EventFilter {
  const kind = params.value.get("kind") ?? "";
  const session = params.value.get("session") ?? "";
  const ids = launchesOf(session).join(",");
  return useMemo(() => ({ kinds: kind.split(",").filter(Boolean), launches: ids.split(",").filter(Boolean) }), [kind, ids]);
}

/** Returns the ids of all launches of a session, given by name or id. An unknown reference is used as it is. */
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
        <span class="foreign">{errorText(store.error.value)}</span>
      </p>
    );
  }
  if (low <= 1) return <p class="older muted small">Start of the log</p>;
  if (entries.length >= MAX_ENTRIES) {
    return <p class="older muted small">At most {MAX_ENTRIES.toLocaleString("en")} events are shown. Filter by kind or session to see older ones.</p>;
  }
  return (
    <p class="older">
      <Button compact icon="up" disabled={store.isFetching.value} onClick={store.older}>
        {store.isFetching.value ? "Loading…" : `Load events before ${low.toLocaleString("en")}`}
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

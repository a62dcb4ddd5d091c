import "./sessions.css";

import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

import { RemoveDialog } from "../../actions/remove.tsx";
import { StopDialog } from "../../actions/stop.tsx";
import type { SessionView } from "../../api/types.ts";
import { bindShortcuts } from "../../state/shortcuts.ts";
import { loaded, sessions } from "../../state/live.ts";
import { mayChange, me } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Filters } from "./filters.tsx";
import { List } from "./list.tsx";
import { NewDialog } from "./new/dialog.tsx";
import { NoSessions, NothingFound, Skeleton } from "./empty.tsx";
import { PruneDialog } from "./prune.tsx";
import { SelectionBar } from "./selection.tsx";
import { rows, selectNone } from "./state.ts";

/** The open dialog. */
type Open = { what: "new" } | { what: "prune" } | { what: "stop" | "remove"; sessions: readonly SessionView[] };

export function SessionsPage(_: { parts: string[] }) {
  const open = useSignal<Open | null>(null);
  const close = () => void (open.value = null);
  // The shortcut also works before this browser’s scope is loaded.
  const startNew = () => void ((me.value === null || mayChange.value) && (open.value = { what: "new" }));
  useLayoutEffect(() => bindShortcuts({ keys: "n", what: "Start a new session", run: startNew }), []);
  return (
    <>
      <div class="page-head">
        <h1>Sessions</h1>
        <span class="grow" />
        {mayChange.value && (
          <>
            <Button kind="plain" onClick={() => void (open.value = { what: "prune" })}>
              Prune…
            </Button>
            <Button kind="primary" icon="plus" onClick={startNew}>
              New session
            </Button>
          </>
        )}
      </div>
      <Content startNew={startNew} />
      {mayChange.value && <SelectionBar act={(what, sessions) => void (open.value = { what, sessions })} />}
      {mayChange.value && open.value?.what === "new" && <NewDialog close={close} />}
      {open.value?.what === "remove" && <RemoveDialog sessions={open.value.sessions} close={close} removed={selectNone} />}
      {open.value?.what === "prune" && <PruneDialog close={close} />}
      {open.value?.what === "stop" && <StopDialog sessions={open.value.sessions} close={close} />}
    </>
  );
}

function Content({ startNew }: { startNew: () => void }) {
  if (!loaded.value) return <Skeleton />;
  if (sessions.value.length === 0) return <NoSessions startNew={startNew} />;
  return (
    <>
      <Filters />
      {rows.value.length === 0 ? <NothingFound /> : <List />}
    </>
  );
}

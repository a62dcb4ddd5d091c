import "./stop.css";

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { told } from "../api/http.ts";
import type { SessionView } from "../api/types.ts";
import { isOver } from "../state/live.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { counted, shortened } from "../ui/format.ts";
import { say } from "../ui/toast.tsx";
import { called } from "../ui/words.ts";
import { removeSessions, type Removing } from "./remove.ts";

const NAMED = 100;

/** Says what would be removed, removes it, and tells what stays and why. */
export function RemoveDialog({ sessions, close, removed }: { sessions: readonly SessionView[]; close: () => void; removed?: () => void }) {
  const meant = useRef(sessions.filter(isOver)).current;
  const removing = useSignal<Removing | null>(null);
  const isDone = useSignal(false);
  const begin = () => {
    if (removing.value) return;
    const begun = (removing.value = removeSessions(meant));
    void begun.done.then(() => {
      isDone.value = true;
      const gone = meant.length - begun.refused.value.length;
      if (gone > 0) say("good", `${counted(gone, "session")} removed`);
      if (begun.refused.value.length > 0) return;
      removed?.();
      close();
    });
  };
  const trees = meant.filter((session) => session.kept.length > 0).length;
  return (
    <Dialog title={meant.length === 1 ? `Remove ${shortened(called(meant[0]!))}` : `Remove ${counted(meant.length, "session")}`} close={close}>
      <p>
        {meant.length === 1 ? "Its output and its record go" : "Their output and their records go"} for good. Nothing that runs is touched.
      </p>
      {trees > 0 && !removing.value && (
        <p class="note warn">{counted(trees, "session has a worktree", "sessions have worktrees")} with something of value, and will stay.</p>
      )}
      <ul class="stop-list" tabIndex={0} aria-label={removing.value ? "Sessions that stay" : "Sessions to remove"}>
        {removing.value
          ? removing.value.refused.value.slice(0, NAMED).map(({ session, error }) => (
              <li key={session.id}>
                <span class="cut foreign">{shortened(called(session), 200)}</span>
                <span class="small stop-bad foreign">{told(error)}</span>
              </li>
            ))
          : meant.slice(0, NAMED).map((session) => (
              <li key={session.id}>
                <span class="grow cut foreign">{shortened(called(session), 200)}</span>
                <span class="muted small mono">{session.session}</span>
              </li>
            ))}
        {!removing.value && meant.length > NAMED && <li class="muted">and {(meant.length - NAMED).toLocaleString("en")} more</li>}
      </ul>
      {removing.value && (
        <p class={isDone.value ? "note warn" : "muted"} role="status">
          {isDone.value
            ? `${counted(removing.value.refused.value.length, "session stays", "sessions stay")} on record.`
            : `${removing.value.over.value} of ${meant.length} told`}
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>{removing.value ? "Close" : "Cancel"}</Button>
        {!removing.value && (
          <Button kind="danger primary" disabled={meant.length === 0} onClick={begin}>
            {meant.length === 1 ? "Remove it" : `Remove ${counted(meant.length, "session")}`}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

import "./stop.css";

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { errorText } from "../api/http.ts";
import type { SessionView } from "../api/types.ts";
import { isOver } from "../state/live.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { pluralize, truncate } from "../ui/format.ts";
import { showToast } from "../ui/toast.tsx";
import { displayName } from "../ui/labels.ts";
import { removeSessions, type Removing } from "./remove.ts";

const MAX_LISTED = 100;

/** Lists the sessions to remove, removes them, and shows the ones that could not be removed. */
export function RemoveDialog({ sessions, close, removed }: { sessions: readonly SessionView[]; close: () => void; removed?: () => void }) {
  const targets = useRef(sessions.filter(isOver)).current;
  const removing = useSignal<Removing | null>(null);
  const isDone = useSignal(false);
  const begin = () => {
    if (removing.value) return;
    const started = (removing.value = removeSessions(targets));
    void started.done.then(() => {
      isDone.value = true;
      const gone = targets.length - started.refused.value.length;
      if (gone > 0) showToast("good", `${pluralize(gone, "session")} removed`);
      if (started.refused.value.length > 0) return;
      removed?.();
      close();
    });
  };
  const trees = targets.filter((session) => session.kept.length > 0).length;
  return (
    <Dialog title={targets.length === 1 ? `Remove ${truncate(displayName(targets[0]!))}` : `Remove ${pluralize(targets.length, "session")}`} close={close}>
      <p>
        This permanently deletes {targets.length === 1 ? "its record and output" : "their records and output"}. Running sessions are not affected.
      </p>
      {trees > 0 && !removing.value && (
        <p class="note warn">{pluralize(trees, "session has a worktree", "sessions have worktrees")} with unmerged or uncommitted work and will not be removed.</p>
      )}
      <ul class="stop-list" tabIndex={0} aria-label={removing.value ? "Sessions not removed" : "Sessions to remove"}>
        {removing.value
          ? removing.value.refused.value.slice(0, MAX_LISTED).map(({ session, error }) => (
              <li key={session.id}>
                <span class="cut foreign">{truncate(displayName(session), 200)}</span>
                <span class="small stop-bad foreign">{errorText(error)}</span>
              </li>
            ))
          : targets.slice(0, MAX_LISTED).map((session) => (
              <li key={session.id}>
                <span class="grow cut foreign">{truncate(displayName(session), 200)}</span>
                <span class="muted small mono">{session.session}</span>
              </li>
            ))}
        {!removing.value && targets.length > MAX_LISTED && <li class="muted">and {(targets.length - MAX_LISTED).toLocaleString("en")} more</li>}
      </ul>
      {removing.value && (
        <p class={isDone.value ? "note warn" : "muted"} role="status">
          {isDone.value
            ? `${pluralize(removing.value.refused.value.length, "session was", "sessions were")} not removed.`
            : `${removing.value.over.value} of ${targets.length} done`}
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>{removing.value ? "Close" : "Cancel"}</Button>
        {!removing.value && (
          <Button kind="danger primary" disabled={targets.length === 0} onClick={begin}>
            {targets.length === 1 ? "Remove session" : `Remove ${pluralize(targets.length, "session")}`}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

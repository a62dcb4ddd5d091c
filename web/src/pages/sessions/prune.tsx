import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { get, post, query } from "../../api/http.ts";
import type { PruneAnswer } from "../../api/types.ts";
import { refreshAll } from "../../state/live.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { counted } from "../../ui/format.ts";
import { Failed } from "../../ui/states.tsx";
import { say, sayFailed } from "../../ui/toast.tsx";

const HOUR = 3_600_000;
const AGES: { title: string; ms: number | null }[] = [
  { title: "All that have ended", ms: null },
  { title: "Ended more than an hour ago", ms: HOUR },
  { title: "Ended more than a day ago", ms: 24 * HOUR },
  { title: "Ended more than a week ago", ms: 7 * 24 * HOUR },
];

/** Removes what has ended from the record, after it was told how much that is. */
export function PruneDialog({ close }: { close: () => void }) {
  const older = useSignal<number | null>(null);
  const preview = useSignal<PruneAnswer | null>(null);
  const error = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  const turn = useSignal(0);
  useEffect(() => {
    const closing = new AbortController();
    preview.value = null;
    error.value = null;
    get<PruneAnswer>(`/v1/prune${query({ older_than_ms: older.value ?? undefined })}`, closing.signal).then(
      (told) => void (preview.value = told),
      (failed: unknown) => void (closing.signal.aborted || (error.value = failed)),
    );
    return () => closing.abort();
  }, [older.value, turn.value]);

  const prune = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      const told = await post<PruneAnswer>("/v1/prune", { older_than_ms: older.value });
      say("good", `${counted(told.removed.length, "session")} removed`, stays(told));
      refreshAll();
      close();
    } catch (failed) {
      sayFailed("It could not be pruned", failed);
      isBusy.value = false;
    }
  };

  const count = preview.value?.removed.length ?? 0;
  return (
    <Dialog title="Prune" close={close}>
      <p>Removes sessions that have ended from the record, with their output. Nothing that runs is touched.</p>
      <div class="field">
        <label for="prune-age">Which</label>
        <select
          id="prune-age"
          class="input"
          value={String(older.value ?? "")}
          onChange={(event) => void (older.value = event.currentTarget.value === "" ? null : Number(event.currentTarget.value))}
        >
          {AGES.map(({ title, ms }) => (
            <option key={title} value={ms ?? ""}>
              {title}
            </option>
          ))}
        </select>
      </div>
      {error.value ? (
        <Failed what="What it would remove can't be told" error={error.value} again={() => void (turn.value += 1)} />
      ) : (
        <div role="status" class="prune-told">
          {preview.value ? (
            <>
              <p>{count === 0 ? "There is nothing to remove." : <><strong>{counted(count, "session")}</strong> will be removed.</>}</p>
              <p class="muted small">{stays(preview.value)}</p>
            </>
          ) : (
            <p class="muted">Looking…</p>
          )}
        </div>
      )}
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={count === 0 || isBusy.value} onClick={() => void prune()}>
          {count === 0 ? "Remove" : `Remove ${counted(count, "session")}`}
        </Button>
      </div>
    </Dialog>
  );
}

function stays(told: PruneAnswer): string | null {
  const parts: string[] = [];
  if (told.with_worktrees.length > 0) parts.push(`${counted(told.with_worktrees.length, "session stays", "sessions stay")}: a worktree with something of value is kept.`);
  if (told.with_keys.length > 0) parts.push(`${counted(told.with_keys.length, "session stays", "sessions stay")}: the same request again is still answered by it.`);
  return parts.join(" ") || null;
}

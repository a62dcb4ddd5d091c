import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { removeSessions } from "../../actions/remove.ts";
import { KEY_PREFIX } from "../../answer/asking.ts";
import { get, query, told } from "../../api/http.ts";
import type { PruneAnswer, SessionView } from "../../api/types.ts";
import { sessions } from "../../state/live.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { counted } from "../../ui/format.ts";
import { Failed } from "../../ui/states.tsx";
import { say } from "../../ui/toast.tsx";

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

  const meant = preview.value ? those(preview.value) : [];
  // Those that were told, and no others: another may have ended meanwhile.
  const prune = async () => {
    if (isBusy.value || !preview.value) return;
    isBusy.value = true;
    const staying = stays(preview.value, meant);
    const { done, refused } = removeSessions(meant);
    await done;
    const [first] = refused.value;
    say(first ? "warn" : "good", `${counted(meant.length - refused.value.length, "session")} removed`, first ? `${counted(refused.value.length, "session stays", "sessions stay")}: ${told(first.error)}` : staying);
    close();
  };

  const count = meant.length;
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
              <p class="muted small">{stays(preview.value, meant)}</p>
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

/** Whether it was started from a page like this, which asks again only for as long as it starts. */
function isOurs({ spec }: SessionView): boolean {
  return spec.key?.startsWith(KEY_PREFIX) ?? false;
}

/** The sessions that would be removed. */
function those({ removed, with_keys }: PruneAnswer): SessionView[] {
  const named = (launches: readonly string[]) => new Set(launches.map((launch) => launch.split("_")[0]));
  const [ids, held] = [named(removed), named(with_keys)];
  return sessions.value.filter((session) => ids.has(session.session) || (held.has(session.session) && isOurs(session)));
}

function stays(told: PruneAnswer, meant: readonly SessionView[]): string | null {
  const parts: string[] = [];
  const keyed = told.with_keys.filter((launch) => !meant.some(({ session }) => session === launch.split("_")[0])).length;
  if (told.with_worktrees.length > 0) parts.push(`${counted(told.with_worktrees.length, "session stays", "sessions stay")}: a worktree with something of value is kept.`);
  if (keyed > 0) parts.push(`${counted(keyed, "session stays", "sessions stay")} for a day: whoever started it may ask for the same again, and is answered by it.`);
  return parts.join(" ") || null;
}

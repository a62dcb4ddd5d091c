import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { removeSessions } from "../../actions/remove.ts";
import { KEY_PREFIX } from "../../answer/send-prompt.ts";
import { get, query, errorText } from "../../api/http.ts";
import type { PruneResponse, SessionView } from "../../api/types.ts";
import { sessions } from "../../state/live.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { pluralize } from "../../ui/format.ts";
import { Failed } from "../../ui/states.tsx";
import { showToast } from "../../ui/toast.tsx";

const HOUR = 3_600_000;
const AGES: { title: string; ms: number | null }[] = [
  { title: "All ended sessions", ms: null },
  { title: "Ended more than an hour ago", ms: HOUR },
  { title: "Ended more than a day ago", ms: 24 * HOUR },
  { title: "Ended more than a week ago", ms: 7 * 24 * HOUR },
];

/** Removes ended sessions after a preview of how many there are. */
export function PruneDialog({ close }: { close: () => void }) {
  const older = useSignal<number | null>(null);
  const preview = useSignal<PruneResponse | null>(null);
  const error = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  const turn = useSignal(0);
  useEffect(() => {
    const closing = new AbortController();
    preview.value = null;
    error.value = null;
    get<PruneResponse>(`/v1/prune${query({ older_than_ms: older.value ?? undefined })}`, closing.signal).then(
      (answer) => void (preview.value = answer),
      (failed: unknown) => void (closing.signal.aborted || (error.value = failed)),
    );
    return () => closing.abort();
  }, [older.value, turn.value]);

  const targets = preview.value ? toRemove(preview.value) : [];
  // Remove only the sessions of the preview: others may have ended since then.
  const prune = async () => {
    if (isBusy.value || !preview.value) return;
    isBusy.value = true;
    const kept = keptText(preview.value, targets);
    const { done, refused } = removeSessions(targets);
    await done;
    const [first] = refused.value;
    showToast(first ? "warn" : "good", `${pluralize(targets.length - refused.value.length, "session")} removed`, first ? `${pluralize(refused.value.length, "session was", "sessions were")} not removed: ${errorText(first.error)}` : kept);
    close();
  };

  const count = targets.length;
  return (
    <Dialog title="Prune sessions" close={close}>
      <p>Permanently deletes the records and output of ended sessions. Running sessions are not affected.</p>
      <div class="field">
        <label for="prune-age">Sessions to remove</label>
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
        <Failed what="Couldn’t load the preview" error={error.value} retry={() => void (turn.value += 1)} />
      ) : (
        <div role="status" class="prune-preview">
          {preview.value ? (
            <>
              <p>{count === 0 ? "No sessions to remove." : <><strong>{pluralize(count, "session")}</strong> will be removed.</>}</p>
              <p class="muted small">{keptText(preview.value, targets)}</p>
            </>
          ) : (
            <p class="muted">Loading…</p>
          )}
        </div>
      )}
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={count === 0 || isBusy.value} onClick={() => void prune()}>
          {count === 0 ? "Remove" : `Remove ${pluralize(count, "session")}`}
        </Button>
      </div>
    </Dialog>
  );
}

/** Whether a dashboard started the session. It repeats its request only during the start, so the key is no longer needed. */
function isOurs({ spec }: SessionView): boolean {
  return spec.key?.startsWith(KEY_PREFIX) ?? false;
}

/** Returns the sessions that would be removed. */
function toRemove({ removed, with_keys }: PruneResponse): SessionView[] {
  const named = (launches: readonly string[]) => new Set(launches.map((launch) => launch.split("_")[0]));
  const [ids, held] = [named(removed), named(with_keys)];
  return sessions.value.filter((session) => ids.has(session.session) || (held.has(session.session) && isOurs(session)));
}

function keptText(answer: PruneResponse, targets: readonly SessionView[]): string | null {
  const parts: string[] = [];
  const keyed = answer.with_keys.filter((launch) => !targets.some(({ session }) => session === launch.split("_")[0])).length;
  if (answer.with_worktrees.length > 0) parts.push(`${pluralize(answer.with_worktrees.length, "session is", "sessions are")} kept because of a worktree with unmerged or uncommitted work.`);
  if (keyed > 0) parts.push(`${pluralize(keyed, "session is", "sessions are")} kept until the idempotency key expires (24 hours by default), so that clients can safely repeat their requests.`);
  return parts.join(" ") || null;
}

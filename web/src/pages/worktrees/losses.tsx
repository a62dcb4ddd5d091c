import { segment } from "../../api/http.ts";
import type { LossesView, WorktreeLosses } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { Failed, Loading } from "../../ui/states.tsx";

/** Loads and shows what would be lost with a worktree. */
export function Losses({ session }: { session: string }) {
  const { value, error, refetch } = useFetched<WorktreeLosses>(`/v1/worktrees/${segment(session)}/losses`);
  if (value.value) return <LossesList losses={value.value.losses} />;
  if (error.value !== null) return <Failed what="Couldn’t check for unmerged work" error={error.value} retry={refetch} />;
  return <Loading what="Checking for unmerged work…" />;
}

export function LossesList({ losses }: { losses: LossesView }) {
  if (losses.unknown === null && losses.why.length === 0) {
    return (
      <p class="note good">Nothing: every change is committed, and every commit is on another branch. Only ignored files would be deleted.</p>
    );
  }
  const moreFiles = losses.changes - losses.changed.length;
  const moreCommits = losses.commits - losses.newest.length;
  return (
    <div class="losses">
      {losses.unknown !== null && (
        <p class="note warn foreign">Couldn’t check all of it, so more may be lost: {losses.unknown}</p>
      )}
      {losses.why.map((why) => (
        <p class="foreign" key={why}>
          {why}
        </p>
      ))}
      {losses.changed.length > 0 && (
        <div>
          <h3>Changed files</h3>
          <ul class="mono">
            {losses.changed.map((file) => (
              <li class="foreign" key={file}>
                {file}
              </li>
            ))}
            {moreFiles > 0 && <li class="muted">and {moreFiles} more</li>}
          </ul>
        </div>
      )}
      {losses.newest.length > 0 && (
        <div>
          <h3>Unmerged commits</h3>
          <ul>
            {losses.newest.map((commit) => (
              <li class="foreign" key={commit.id}>
                <code>{commit.id.slice(0, 10)}</code> {commit.subject}
              </li>
            ))}
            {moreCommits > 0 && <li class="muted">and {moreCommits} older</li>}
          </ul>
        </div>
      )}
    </div>
  );
}

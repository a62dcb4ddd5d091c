import { useSignal } from "@preact/signals";

import { LossesChanged, hasLosses, removeWorktree } from "../../../actions/worktree.ts";
import { segment } from "../../../api/http.ts";
import type { LossesView, WorktreeLosses, WorktreeView } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Failed, Loading } from "../../../ui/states.tsx";
import { showToast } from "../../../ui/toast.tsx";
import { ActionError } from "../actions/action-error.tsx";

/** Removes a kept worktree after a confirmation that lists what would be lost. */
export function RemoveWorktree({ worktree, close, done }: { worktree: WorktreeView; close: () => void; done: () => void }) {
  const { value, error, refetch } = useFetched<WorktreeLosses>(`/v1/worktrees/${segment(worktree.session)}/losses`);
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const losses = value.value?.losses;
  const mayLose = !!losses && hasLosses(losses);
  const removeIt = async () => {
    if (!losses) return;
    busy.value = true;
    wrong.value = null;
    try {
      const { losses: lost } = await removeWorktree(worktree, losses);
      showToast("good", "Removed the worktree", lost.why.length > 0 ? `Deleted: ${lost.why.join("; ")}` : null);
      done();
      close();
    } catch (failed) {
      wrong.value = failed;
      if (failed instanceof LossesChanged) value.value = failed.now;
      busy.value = false;
    }
  };
  return (
    <Dialog title="Remove worktree?" close={close}>
      <p>
        <code class="foreign">{worktree.path}</code> will be deleted. Its branch <code class="foreign">{worktree.branch}</code> is deleted, too, if Kennel created it.
      </p>
      {losses ? <Losses losses={losses} /> : error.value ? <Failed what="Couldn’t check for unmerged work" error={error.value} retry={refetch} /> : <Loading what="Checking for unmerged work…" />}
      <ActionError what="Couldn’t remove the worktree" error={wrong.value} />
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={!losses || busy.value} onClick={removeIt}>
          {mayLose ? "Remove anyway" : "Remove"}
        </Button>
      </div>
    </Dialog>
  );
}

function Losses({ losses }: { losses: LossesView }) {
  if (losses.why.length === 0 && !losses.unknown) return <p>It contains no uncommitted or unmerged work.</p>;
  return (
    <div class="note bad">
      <div class="stack tight grow">
        <strong>This will be permanently lost:</strong>
        {losses.unknown && <p class="foreign">Couldn’t check all of it: {losses.unknown}</p>}
        <ul class="bullets">
          {losses.why.map((why) => (
            <li class="foreign" key={why}>
              {why}
            </li>
          ))}
        </ul>
        {losses.newest.map((commit) => (
          <p class="small foreign" key={commit.id}>
            commit <code>{commit.id.slice(0, 10)}</code> {commit.subject}
          </p>
        ))}
        {losses.changed.map((file) => (
          <p class="small foreign" key={file}>
            file <code>{file}</code>
          </p>
        ))}
      </div>
    </div>
  );
}

import { useSignal } from "@preact/signals";

import { LossesChanged, hasLosses, removeWorktree } from "../../actions/worktree.ts";
import { segment, errorText } from "../../api/http.ts";
import type { WorktreeLosses, WorktreeView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failed, Loading } from "../../ui/states.tsx";
import { showToast } from "../../ui/toast.tsx";
import { LossesList } from "./losses.tsx";

/** Removes a worktree after a confirmation that lists what would be lost. */
export function RemoveWorktree({ worktree, close }: { worktree: WorktreeView; close: () => void }) {
  const { value, error, refetch } = useFetched<WorktreeLosses>(`/v1/worktrees/${segment(worktree.session)}/losses`);
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const losses = value.value?.losses ?? null;
  const isLossy = losses !== null && hasLosses(losses);
  const go = async () => {
    if (losses === null) return;
    busy.value = true;
    wrong.value = null;
    try {
      const gone = await removeWorktree(worktree, losses);
      const lost = gone.losses.why.join("; ");
      showToast("good", `Removed ${worktree.path}`, lost ? `Deleted: ${lost}.` : null);
      close();
    } catch (failed) {
      wrong.value = failed;
      busy.value = false;
      if (failed instanceof LossesChanged) value.value = failed.now;
      else refetch();
    }
  };
  return (
    <Dialog title="Remove worktree?" close={close} wide>
      <p>
        <code class="foreign">{worktree.path}</code> will be deleted. Its branch <code class="foreign">{worktree.branch}</code> is deleted, too,
        if Kennel created it.
      </p>
      {losses === null && error.value === null && <Loading what="Checking for unmerged work…" />}
      {losses === null && error.value !== null && <Failed what="Couldn’t check for unmerged work" error={error.value} retry={refetch} />}
      {losses !== null && (
        <>
          {isLossy && <h3>This will be permanently lost</h3>}
          <LossesList losses={losses} />
        </>
      )}
      {wrong.value !== null && (
        <p class="note bad foreign" role="alert">
          Couldn’t remove it: {errorText(wrong.value)}
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={losses === null || busy.value} onClick={() => void go()}>
          {busy.value ? "Removing…" : isLossy ? "Remove anyway" : "Remove"}
        </Button>
      </div>
    </Dialog>
  );
}

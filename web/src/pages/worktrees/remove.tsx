import { useSignal } from "@preact/signals";

import { Changed, losesSomething, removeWorktree } from "../../actions/worktree.ts";
import { segment, told } from "../../api/http.ts";
import type { WorktreeLosses, WorktreeView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failed, Loading } from "../../ui/states.tsx";
import { say } from "../../ui/toast.tsx";
import { LossesList } from "./losses.tsx";

/** Says what is lost with a worktree, and removes it. */
export function RemoveWorktree({ worktree, close }: { worktree: WorktreeView; close: () => void }) {
  const { value, error, again } = useFetched<WorktreeLosses>(`/v1/worktrees/${segment(worktree.session)}/losses`);
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const losses = value.value?.losses ?? null;
  const isLossy = losses !== null && losesSomething(losses);
  const go = async () => {
    if (losses === null) return;
    busy.value = true;
    wrong.value = null;
    try {
      const gone = await removeWorktree(worktree, losses);
      const lost = gone.losses.why.join("; ");
      say("good", `Removed ${worktree.path}`, lost ? `Lost with it: ${lost}.` : "Nothing was lost.");
      close();
    } catch (failed) {
      wrong.value = failed;
      busy.value = false;
      if (failed instanceof Changed) value.value = failed.now;
      else again();
    }
  };
  return (
    <Dialog title="Remove this worktree?" close={close} wide>
      <p>
        <code class="foreign">{worktree.path}</code> is removed, with its branch <code class="foreign">{worktree.branch}</code> if that was
        made for it.
      </p>
      {losses === null && error.value === null && <Loading what="Looking for what would be lost…" />}
      {losses === null && error.value !== null && <Failed what="It can't be told what would be lost" error={error.value} again={again} />}
      {losses !== null && (
        <>
          {isLossy && <h3>This is lost for good</h3>}
          <LossesList losses={losses} />
        </>
      )}
      {wrong.value !== null && (
        <p class="note bad foreign" role="alert">
          It was not removed: {told(wrong.value)}
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={losses === null || busy.value} onClick={() => void go()}>
          {busy.value ? "Removing…" : isLossy ? "Remove it with all that" : "Remove it"}
        </Button>
      </div>
    </Dialog>
  );
}

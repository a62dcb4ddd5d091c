import { useSignal } from "@preact/signals";

import { Changed, losesSomething, removeWorktree } from "../../../actions/worktree.ts";
import { segment } from "../../../api/http.ts";
import type { LossesView, WorktreeLosses, WorktreeView } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Failed, Loading } from "../../../ui/states.tsx";
import { say } from "../../../ui/toast.tsx";
import { NotDone } from "../actions/failed.tsx";

/** Removes a worktree that is kept, after it is said what would be lost. */
export function RemoveWorktree({ worktree, close, done }: { worktree: WorktreeView; close: () => void; done: () => void }) {
  const { value, error, again } = useFetched<WorktreeLosses>(`/v1/worktrees/${segment(worktree.session)}/losses`);
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const losses = value.value?.losses;
  const mayLose = !!losses && losesSomething(losses);
  const removeIt = async () => {
    if (!losses) return;
    busy.value = true;
    wrong.value = null;
    try {
      const { losses: lost } = await removeWorktree(worktree, losses);
      say("good", "The worktree is removed", lost.why.length > 0 ? `Lost: ${lost.why.join("; ")}` : "Nothing of value was lost.");
      done();
      close();
    } catch (failed) {
      wrong.value = failed;
      if (failed instanceof Changed) value.value = failed.now;
      busy.value = false;
    }
  };
  return (
    <Dialog title="Remove the worktree?" close={close}>
      <p>
        <code class="foreign">{worktree.path}</code> and its branch <code class="foreign">{worktree.branch}</code> go.
      </p>
      {losses ? <Losses losses={losses} /> : error.value ? <Failed what="What would be lost can't be told" error={error.value} again={again} /> : <Loading what="Looking what would be lost…" />}
      <NotDone what="The worktree could not be removed" error={wrong.value} />
      <div class="actions">
        <Button onClick={close}>Keep it</Button>
        <Button kind="danger primary" disabled={!losses || busy.value} onClick={removeIt}>
          {mayLose ? "Remove with all that" : "Remove"}
        </Button>
      </div>
    </Dialog>
  );
}

function Losses({ losses }: { losses: LossesView }) {
  if (losses.why.length === 0 && !losses.unknown) return <p>Nothing of value is in it any more.</p>;
  return (
    <div class="note bad">
      <div class="stack tight grow">
        <strong>This would be lost for good:</strong>
        {losses.unknown && <p class="foreign">Perhaps anything: {losses.unknown}</p>}
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

import { useSignal } from "@preact/signals";

import { remove, segment } from "../../../api/http.ts";
import type { LossesView, WorktreeLosses, WorktreeView } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Failed, Loading } from "../../../ui/states.tsx";
import { say, sayFailed } from "../../../ui/toast.tsx";

/** Removes a worktree that is kept, after it is said what would be lost. */
export function RemoveWorktree({ worktree, close, done }: { worktree: WorktreeView; close: () => void; done: () => void }) {
  const path = `/v1/worktrees/${segment(worktree.session)}`;
  const { value, error, again } = useFetched<WorktreeLosses>(`${path}/losses`);
  const busy = useSignal(false);
  const losses = value.value?.losses;
  const removeIt = async () => {
    busy.value = true;
    try {
      const { losses: lost } = await remove<WorktreeLosses>(path);
      say("good", "The worktree is removed", lost.why.length > 0 ? `Lost: ${lost.why.join("; ")}` : "Nothing of value was lost.");
      done();
      close();
    } catch (failed) {
      sayFailed("The worktree could not be removed", failed);
      busy.value = false;
    }
  };
  return (
    <Dialog title="Remove the worktree?" close={close}>
      <p>
        <code class="foreign">{worktree.path}</code> and its branch <code class="foreign">{worktree.branch}</code> go.
      </p>
      {losses ? <Losses losses={losses} /> : error.value ? <Failed what="What would be lost can't be told" error={error.value} again={again} /> : <Loading what="Looking what would be lost…" />}
      <div class="actions">
        <Button onClick={close}>Keep it</Button>
        <Button kind="danger primary" disabled={!losses || busy.value} onClick={removeIt}>
          {losses && losses.why.length === 0 && !losses.unknown ? "Remove" : "Remove with all that"}
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

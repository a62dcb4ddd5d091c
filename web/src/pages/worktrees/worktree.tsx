import { useSignal } from "@preact/signals";

import type { WorktreeView } from "../../api/types.ts";
import { mayChange } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { counted } from "../../ui/format.ts";
import { Losses } from "./losses.tsx";

/** One worktree: where it is, whose, and why it is there. */
export function Worktree({ worktree, remove }: { worktree: WorktreeView; remove: () => void }) {
  const shown = useSignal(false);
  const whose = worktree.name ?? worktree.session;
  const isKept = worktree.state === "kept";
  return (
    <li>
      <div class="worktree">
        <div class="grow stack lines">
          <div class="row wrap first">
            <a class="foreign" href={`/sessions/${encodeURIComponent(worktree.session)}`}>
              {whose}
            </a>
            <span class="branch mono foreign" title="Its branch">
              {worktree.branch}
            </span>
          </div>
          <div class="row path">
            <code class="foreign">{worktree.path}</code>
            <Copy text={worktree.path} label={`Copy the path of ${whose}'s worktree`} />
          </div>
          <div class="muted small foreign">of {worktree.repo}</div>
          {worktree.kept_because && <div class="why foreign">{worktree.kept_because}</div>}
          {worktree.failures > 0 && (
            <div class="why wrong foreign">
              Its removal failed {counted(worktree.failures, "time")}
              {worktree.failed_because ? `: ${worktree.failed_because}` : "."}
            </div>
          )}
        </div>
        {isKept && (
          <div class="row wrap deeds">
            <Button expanded={shown.value} label={`What would be lost with ${whose}'s worktree`} onClick={() => void (shown.value = !shown.value)}>
              What would be lost
            </Button>
            {mayChange.value && (
              <Button kind="danger" label={`Remove ${whose}'s worktree`} onClick={remove}>
                Remove…
              </Button>
            )}
          </div>
        )}
      </div>
      {isKept && shown.value && <Losses session={worktree.session} />}
    </li>
  );
}

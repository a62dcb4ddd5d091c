import { useSignal } from "@preact/signals";

import type { WorktreeView } from "../../api/types.ts";
import { mayChange } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { pluralize } from "../../ui/format.ts";
import { Losses } from "./losses.tsx";

/** One worktree with its session, path and reason. */
export function Worktree({ worktree, remove }: { worktree: WorktreeView; remove: () => void }) {
  const shown = useSignal(false);
  const session = worktree.name ?? worktree.session;
  const isKept = worktree.state === "kept";
  return (
    <li>
      <div class="worktree">
        <div class="grow stack lines">
          <div class="row wrap first">
            <a class="foreign" href={`/sessions/${encodeURIComponent(worktree.session)}`}>
              {session}
            </a>
            <span class="branch mono foreign" title="Branch">
              {worktree.branch}
            </span>
          </div>
          <div class="row path">
            <code class="foreign">{worktree.path}</code>
            <Copy text={worktree.path} label={`Copy the worktree path of ${session}`} />
          </div>
          <div class="muted small foreign">Repository: {worktree.repo}</div>
          {worktree.kept_because && <div class="why foreign">{worktree.kept_because}</div>}
          {worktree.failures > 0 && (
            <div class="why wrong foreign">
              Couldn’t remove it ({pluralize(worktree.failures, "failed attempt")})
              {worktree.failed_because ? `: ${worktree.failed_because}` : "."}
            </div>
          )}
        </div>
        {isKept && (
          <div class="row wrap worktree-actions">
            <Button expanded={shown.value} label={`Show unmerged work of ${session}`} onClick={() => void (shown.value = !shown.value)}>
              Show unmerged work
            </Button>
            {mayChange.value && (
              <Button kind="danger" label={`Remove the worktree of ${session}`} onClick={remove}>
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

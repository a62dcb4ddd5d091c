import { useSignal } from "@preact/signals";

import type { SessionView, WorktreesView, WorktreeView } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { mayChange } from "../../../state/me.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { pluralize } from "../../../ui/format.ts";
import { Failed } from "../../../ui/states.tsx";
import type { Tone } from "../../../ui/labels.ts";
import { RemoveWorktree } from "./remove.tsx";

const STATES: Record<WorktreeView["state"], { word: string; tone: Tone }> = {
  in_use: { word: "in use", tone: "good" },
  owed: { word: "removal pending", tone: "warn" },
  kept: { word: "kept", tone: "warn" },
};

/** The session’s worktree and its state. */
export function Worktree({ session }: { session: SessionView }) {
  const spec = session.spec.worktree;
  const removing = useSignal(false);
  const { value, error, refetch } = useFetched<WorktreesView>("/v1/worktrees", { when: (event) => event.session?.split("_")[0] === session.session });
  if (!spec) return null;
  // All launches share one worktree.
  const current = value.value?.worktrees.find((it) => it.session.split("_")[0] === session.session && it.path === spec.path) ?? null;
  return (
    <section class="card" aria-labelledby="worktree-title">
      <header>
        <h2 id="worktree-title">Worktree</h2>
        {value.value && (current ? <Badge {...STATES[current.state]} /> : <Badge tone="quiet" word={session.ended_at ? "removed" : "not created yet"} />)}
        <span class="grow" />
        {mayChange.value && current?.state === "kept" && (
          <Button kind="danger" compact onClick={() => void (removing.value = true)}>
            Remove worktree…
          </Button>
        )}
      </header>
      {error.value !== null && !value.value && <Failed what="Couldn’t load the worktree" error={error.value} retry={refetch} />}
      {current?.kept_because && (
        <p class="body foreign">
          Kept: <strong>{current.kept_because}</strong>. Merge or push its branch, or remove it.
        </p>
      )}
      {current && current.failures > 0 && (
        <p class="body foreign">
          Couldn’t remove it ({pluralize(current.failures, "failed attempt")}): {current.failed_because}. Kennel keeps trying.
        </p>
      )}
      <dl class="facts body">
        <dt>Branch</dt>
        <dd class="row">
          <code class="foreign">{spec.branch || "not set yet"}</code>
          {spec.branch && <Copy text={spec.branch} label="Copy branch" />}
        </dd>
        <dt>Folder</dt>
        <dd class="row">
          <code class="foreign">{spec.path || "not set yet"}</code>
          {spec.path && <Copy text={spec.path} label="Copy worktree folder" />}
        </dd>
        <dt>Repository</dt>
        <dd>
          <code class="foreign">{spec.repo}</code>
        </dd>
        {spec.base && (
          <>
            <dt>Base commit</dt>
            <dd>
              <code class="foreign">{spec.base.slice(0, 12)}</code>
            </dd>
          </>
        )}
        {spec.uncommitted && (
          <>
            <dt>Not included</dt>
            <dd>uncommitted changes of the original checkout</dd>
          </>
        )}
      </dl>
      {removing.value && current && <RemoveWorktree worktree={current} close={() => void (removing.value = false)} done={refetch} />}
    </section>
  );
}

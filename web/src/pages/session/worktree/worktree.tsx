import { useSignal } from "@preact/signals";

import type { SessionView, WorktreesView, WorktreeView } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { mayChange } from "../../../state/me.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { counted } from "../../../ui/format.ts";
import { Failed } from "../../../ui/states.tsx";
import type { Tone } from "../../../ui/words.ts";
import { RemoveWorktree } from "./remove.tsx";

const STATES: Record<WorktreeView["state"], { word: string; tone: Tone }> = {
  in_use: { word: "in use", tone: "good" },
  owed: { word: "to be removed", tone: "warn" },
  kept: { word: "kept", tone: "warn" },
};

/** The worktree that was made for it, and what has become of that. */
export function Worktree({ session }: { session: SessionView }) {
  const spec = session.spec.worktree;
  const removing = useSignal(false);
  const { value, error, again } = useFetched<WorktreesView>("/v1/worktrees", { when: (event) => event.session?.split("_")[0] === session.session });
  if (!spec) return null;
  // The same one goes from launch to launch.
  const standing = value.value?.worktrees.find((it) => it.session.split("_")[0] === session.session && it.path === spec.path) ?? null;
  return (
    <section class="card" aria-labelledby="worktree-title">
      <header>
        <h2 id="worktree-title">Worktree</h2>
        {value.value && (standing ? <Badge {...STATES[standing.state]} /> : <Badge tone="quiet" word={session.ended_at ? "removed" : "not made yet"} />)}
        <span class="grow" />
        {mayChange.value && standing?.state === "kept" && (
          <Button kind="danger" compact onClick={() => void (removing.value = true)}>
            Remove worktree…
          </Button>
        )}
      </header>
      {error.value !== null && !value.value && <Failed what="Its state can't be had" error={error.value} again={again} />}
      {standing?.kept_because && (
        <p class="body foreign">
          It is kept, since something of value is in it: <strong>{standing.kept_because}</strong>. Merge or push its branch, or remove it.
        </p>
      )}
      {standing && standing.failures > 0 && (
        <p class="body foreign">
          It could not be removed {counted(standing.failures, "time")}: {standing.failed_because}. It is tried again.
        </p>
      )}
      <dl class="facts body">
        <dt>Branch</dt>
        <dd class="row">
          <code class="foreign">{spec.branch || "not decided yet"}</code>
          {spec.branch && <Copy text={spec.branch} label="Copy the branch" />}
        </dd>
        <dt>Folder</dt>
        <dd class="row">
          <code class="foreign">{spec.path || "not decided yet"}</code>
          {spec.path && <Copy text={spec.path} label="Copy the worktree's folder" />}
        </dd>
        <dt>Repository</dt>
        <dd>
          <code class="foreign">{spec.repo}</code>
        </dd>
        {spec.base && (
          <>
            <dt>Starts from</dt>
            <dd>
              <code class="foreign">{spec.base.slice(0, 12)}</code>
            </dd>
          </>
        )}
        {spec.uncommitted && (
          <>
            <dt>Not in it</dt>
            <dd>changes that were not committed in the checkout it was asked from</dd>
          </>
        )}
      </dl>
      {removing.value && standing && <RemoveWorktree worktree={standing} close={() => void (removing.value = false)} done={again} />}
    </section>
  );
}

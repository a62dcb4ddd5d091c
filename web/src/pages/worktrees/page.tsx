import { useSignal } from "@preact/signals";

import { errorText } from "../../api/http.ts";
import type { EventView, WorktreesView, WorktreeView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { pluralize } from "../../ui/format.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { RemoveWorktree } from "./remove.tsx";
import { Worktree } from "./worktree.tsx";
import "./worktrees.css";

/** The events that can change the list. */
const KINDS = new Set(["queued", "making", "running", "reaped", "cleaned", "worktree", "worktree_removed", "removed", "trouble"]);
const matters = (event: EventView) => KINDS.has(event.kind);
/** The daemon retries pending removals without an event. */
const EVERY_MS = 15_000;

const GROUPS: { state: WorktreeView["state"]; title: string; word: string }[] = [
  { state: "kept", title: "Kept", word: "These worktrees contain uncommitted or unmerged work. Merge or push their branches, or remove them." },
  { state: "owed", title: "Removal pending", word: "These worktrees could not be removed yet. The daemon keeps trying." },
  { state: "in_use", title: "In use", word: "Removed when their session ends, unless they contain uncommitted or unmerged work." },
];

/** Lists the worktrees of sessions. */
export function WorktreesPage(_: { parts: string[] }) {
  const { value, error, refetch } = useFetched<WorktreesView>("/v1/worktrees", { when: matters, every: EVERY_MS });
  const removing = useSignal<WorktreeView | null>(null);
  const worktrees = value.value?.worktrees ?? null;
  return (
    <div class="stack">
      <div class="page-head worktrees-head">
        <h1>Worktrees</h1>
        {worktrees && worktrees.length > 0 && <span class="muted small">{pluralize(worktrees.length, "worktree")}</span>}
      </div>
      {worktrees === null && error.value !== null && <Failed what="Couldn’t load worktrees" error={error.value} retry={refetch} />}
      {worktrees === null && error.value === null && <Loading what="Loading worktrees…" />}
      {worktrees !== null && error.value !== null && (
        <p class="note warn foreign" role="status">
          Couldn’t refresh; this may be out of date: {errorText(error.value)}
        </p>
      )}
      {worktrees?.length === 0 && <None />}
      {worktrees &&
        GROUPS.map(({ state, title, word }) => {
          const those = worktrees.filter((it) => it.state === state);
          if (those.length === 0) return null;
          return (
            <section class="card" key={state} aria-labelledby={`worktrees-${state}`}>
              <header>
                <h2 id={`worktrees-${state}`}>{title}</h2>
                <span class="muted small">{those.length}</span>
              </header>
              <p class="group-word muted small">{word}</p>
              <ul class="worktrees">
                {those.map((it) => (
                  <Worktree key={it.path} worktree={it} remove={() => void (removing.value = it)} />
                ))}
              </ul>
            </section>
          );
        })}
      {removing.value && (
        <RemoveWorktree
          worktree={removing.value}
          close={() => {
            removing.value = null;
            refetch();
          }}
        />
      )}
    </div>
  );
}

function None() {
  return (
    <Empty icon="worktrees" title="No worktrees">
      <p>
        A session can use its own git worktree, so that several agents can work on one repository at the same time. A worktree is removed
        when its session ends, unless it contains uncommitted or unmerged work; then it is kept and listed here.
      </p>
      <p>
        <code>kennel run --worktree -- claude</code>
      </p>
    </Empty>
  );
}

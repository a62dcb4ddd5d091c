import { useSignal } from "@preact/signals";

import { told } from "../../api/http.ts";
import type { EventView, WorktreesView, WorktreeView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { counted } from "../../ui/format.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { RemoveWorktree } from "./remove.tsx";
import { Worktree } from "./worktree.tsx";
import "./worktrees.css";

/** What makes a worktree, or says how one stands. */
const KINDS = new Set(["queued", "making", "running", "reaped", "cleaned", "worktree", "worktree_removed", "removed", "trouble"]);
const matters = (event: EventView) => KINDS.has(event.kind);
/** The daemon tries again to remove what it owes without a word in the log. */
const EVERY_MS = 15_000;

const GROUPS: { state: WorktreeView["state"]; title: string; word: string }[] = [
  { state: "kept", title: "Kept", word: "Something of value is in it, so it stays until you remove it. Look into it, merge or push its branch." },
  { state: "owed", title: "To be removed", word: "It was not removed so far. The daemon tries again by itself, with longer and longer pauses." },
  { state: "in_use", title: "In use", word: "Its session has not ended. It goes with the session, if nothing of value is in it then." },
];

/** The worktrees that were made for sessions. */
export function WorktreesPage(_: { parts: string[] }) {
  const { value, error, again } = useFetched<WorktreesView>("/v1/worktrees", { when: matters, every: EVERY_MS });
  const removing = useSignal<WorktreeView | null>(null);
  const worktrees = value.value?.worktrees ?? null;
  return (
    <div class="stack">
      <div class="page-head worktrees-head">
        <h1>Worktrees</h1>
        {worktrees && worktrees.length > 0 && <span class="muted small">{counted(worktrees.length, "worktree")}</span>}
      </div>
      {worktrees === null && error.value !== null && <Failed what="The worktrees can't be listed" error={error.value} again={again} />}
      {worktrees === null && error.value === null && <Loading what="Asking for the worktrees…" />}
      {worktrees !== null && error.value !== null && (
        <p class="note warn foreign" role="status">
          The list could not be had anew: {told(error.value)}
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
            again();
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
        A session can have a git worktree of its own, so that several agents work on one repository and none gets in the way of another.
        It is removed with its session, unless something of value is in it; then it is listed here.
      </p>
      <p>
        <code>kennel run --worktree -- claude</code>
      </p>
    </Empty>
  );
}

/** Removing a worktree, with what was said to be lost and no more. */
import { BY, get, query, remove, segment } from "../api/http.ts";
import type { LossesView, WorktreeLosses, WorktreeView } from "../api/types.ts";

/** What would be lost is no longer what was said. */
export class Changed extends Error {
  readonly now: WorktreeLosses;

  constructor(now: WorktreeLosses) {
    super("What would be lost has changed since it was looked for: see above, and decide anew.");
    this.now = now;
  }
}

export function losesSomething(losses: LossesView): boolean {
  return losses.unknown !== null || losses.why.length > 0;
}

/** Whether two looks have found the same. */
export function isSame(one: LossesView, other: LossesView): boolean {
  const told = ({ why, changes, changed, commits, newest, unknown }: LossesView) =>
    JSON.stringify([why, changes, changed, commits, newest.map((commit) => commit.id), unknown]);
  return told(one) === told(other);
}

/** Looks once more, and removes it if nothing else would be lost than was said; throws {@link Changed}. */
export async function removeWorktree(worktree: WorktreeView, said: LossesView): Promise<WorktreeLosses> {
  const place = `/v1/worktrees/${segment(worktree.session)}`;
  const now = await get<WorktreeLosses>(`${place}/losses`);
  if (now.worktree.path !== worktree.path) throw new Error(`The session's worktree is another one now: ${now.worktree.path}`);
  if (!isSame(now.losses, said)) throw new Changed(now);
  // Without losses it is removed only if there are none by then either.
  return remove<WorktreeLosses>(`${place}${query({ force: losesSomething(said) || undefined, by: BY })}`);
}

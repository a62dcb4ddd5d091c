/** Removes a worktree, but only if it would lose no more than the user has confirmed. */
import { BY, get, query, remove, segment } from "../api/http.ts";
import type { LossesView, WorktreeLosses, WorktreeView } from "../api/types.ts";

/** The worktree changed after its losses were shown. */
export class LossesChanged extends Error {
  readonly now: WorktreeLosses;

  constructor(now: WorktreeLosses) {
    super("The worktree has changed since the list above was loaded. Review the list and try again.");
    this.now = now;
  }
}

export function hasLosses(losses: LossesView): boolean {
  return losses.unknown !== null || losses.why.length > 0;
}

export function isSame(one: LossesView, other: LossesView): boolean {
  const key = ({ why, changes, changed, commits, newest, unknown }: LossesView) =>
    JSON.stringify([why, changes, changed, commits, newest.map((commit) => commit.id), unknown]);
  return key(one) === key(other);
}

/** Checks the losses once more, then removes the worktree. Throws {@link LossesChanged} if they differ from `confirmed`. */
export async function removeWorktree(worktree: WorktreeView, confirmed: LossesView): Promise<WorktreeLosses> {
  const path = `/v1/worktrees/${segment(worktree.session)}`;
  const now = await get<WorktreeLosses>(`${path}/losses`);
  if (now.worktree.path !== worktree.path) throw new Error(`The session now has a different worktree: ${now.worktree.path}`);
  if (!isSame(now.losses, confirmed)) throw new LossesChanged(now);
  // Without `force` the daemon removes the worktree only if nothing would be lost by then.
  return remove<WorktreeLosses>(`${path}${query({ force: hasLosses(confirmed) || undefined, by: BY })}`);
}

/** Decides which actions are available for a session. */
import type { SessionView } from "../../../api/types.ts";
import { isOver } from "../../../state/live.ts";

/** Null: hidden. `no`: disabled, with the reason. */
export type May = "yes" | { no: string } | null;

export function isLatest(session: SessionView): boolean {
  return session.attempt === session.launches;
}

export function mayResume(session: SessionView): May {
  if (!isOver(session)) return null;
  const { agent } = session.spec;
  if (agent?.interactive) return { no: "A chat can’t be resumed: start a new one" };
  if (agent) return { no: "Prompts are not stored, so this can’t be repeated: send the prompt again" };
  if (session.started_by === "terminal") return { no: "This session was started in a terminal, not by Kennel" };
  if (session.reason?.kind === "forgotten") return { no: "This session was forgotten, and its processes may still run: start a new one" };
  return "yes";
}

export function mayRemove(session: SessionView): May {
  if (!isOver(session)) return null;
  if (session.phase !== "cleaned") return { no: "Cleanup is still pending" };
  if (session.kept.length > 0) return { no: "Its worktree is kept: remove the worktree first" };
  if (session.unrecorded) return { no: "Its outcome is not recorded yet" };
  return "yes";
}

/** Lost sessions can be forgotten, adopted ones can be released. */
export function mayForget(session: SessionView): May {
  if (session.phase === "lost") return "yes";
  return session.started_by === "terminal" && !isOver(session) ? "yes" : null;
}

export function maySignal(session: SessionView): May {
  return session.phase === "running" || session.phase === "stopping" ? "yes" : null;
}

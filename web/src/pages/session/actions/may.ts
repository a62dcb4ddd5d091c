/** What can be done with a session now, and why not. */
import type { SessionView } from "../../../api/types.ts";
import { isOver } from "../../../state/live.ts";

/** Null: it makes no sense now. A text: why it can't be done. */
export type May = "yes" | { no: string } | null;

export function isLatest(session: SessionView): boolean {
  return session.attempt === session.launches;
}

export function mayResume(session: SessionView): May {
  if (!isOver(session)) return null;
  const { agent } = session.spec;
  if (agent?.interactive) return { no: "A chat is not launched again: begin another one" };
  if (agent) return { no: "A prompt is on no record, so it can't be repeated: ask again" };
  if (session.started_by === "terminal") return { no: "It was started in a terminal: there is no launch to repeat" };
  if (session.reason?.kind === "forgotten") return { no: "It was given up, and nobody saw it end: start another one" };
  return "yes";
}

export function mayRemove(session: SessionView): May {
  if (!isOver(session)) return null;
  if (session.phase !== "cleaned") return { no: "Something of it is still to be cleaned up" };
  if (session.kept.length > 0) return { no: "Its worktree is kept: remove that first" };
  if (session.unrecorded) return { no: "Its outcome is not on record yet" };
  return "yes";
}

/** Whether it can be given up, or let go of if it was adopted. */
export function mayForget(session: SessionView): May {
  if (session.phase === "lost") return "yes";
  return session.started_by === "terminal" && !isOver(session) ? "yes" : null;
}

export function maySignal(session: SessionView): May {
  return session.phase === "running" || session.phase === "stopping" ? "yes" : null;
}

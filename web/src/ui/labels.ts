/** User-facing texts for values of the API. */
import type { Exit, OwedKind, Reason, SessionView, VerdictKind } from "../api/types.ts";
import { isOver } from "../state/live.ts";
import { commandLine, duration, truncate } from "./format.ts";

export type Tone = "good" | "info" | "warn" | "bad" | "quiet";

/** Returns the label and the colour of a session’s state. */
export function sessionState(session: SessionView): { word: string; tone: Tone } {
  switch (session.phase) {
    case "queued":
      return { word: session.queue_position === null ? "queued" : `queued (position ${session.queue_position})`, tone: "quiet" };
    case "making":
      return { word: "creating worktree", tone: "info" };
    case "reserved":
    case "launching":
    case "starting":
      return { word: "starting", tone: "info" };
    case "running":
      return session.ready === "waiting" ? { word: "running, not ready", tone: "info" } : { word: "running", tone: "good" };
    case "stopping":
      return { word: "stopping", tone: "warn" };
    case "lost":
      return { word: "lost", tone: "bad" };
    default:
      if (!isOver(session)) return { word: "restart pending", tone: "info" };
      return ended(session);
  }
}

function ended(session: SessionView): { word: string; tone: Tone } {
  if (session.exit?.kind === "never_ran" && session.reason?.kind === "failed") return { word: "failed to start", tone: "bad" };
  if (session.judged) {
    const kind = session.judged.verdict.kind;
    return { word: verdict(kind), tone: verdictTone(kind) };
  }
  const reason = session.reason?.kind;
  if (reason === "stopped" || reason === "shutdown" || reason === "parent_ended" || reason === "client_gone") {
    return { word: "stopped", tone: "quiet" };
  }
  if (reason === "exited" && session.exit?.kind === "code") {
    return session.exit.code === 0 ? { word: "done", tone: "quiet" } : { word: `failed (code ${session.exit.code})`, tone: "bad" };
  }
  if (session.exit?.kind === "signal") return { word: `killed by ${signalName(session.exit.signal)}`, tone: "bad" };
  return { word: "failed", tone: "bad" };
}

export function verdict(kind: VerdictKind): string {
  return kind.replaceAll("_", " ");
}

export function verdictTone(kind: VerdictKind): Tone {
  if (kind === "succeeded") return "good";
  if (kind === "cancelled") return "quiet";
  return kind === "overloaded" || kind === "rate_limited" || kind === "max_turns" ? "warn" : "bad";
}

/** Returns why a launch ended, as part of a sentence. */
export function reasonText(reason: Reason): string {
  switch (reason.kind) {
    case "exited":
      return "exited by itself";
    case "stopped":
      return `stopped by ${reason.by}`;
    case "client_gone":
      return "the client that started it disconnected";
    case "parent_ended":
      return "its parent session ended";
    case "shutdown":
      return "the daemon was shut down with its sessions";
    case "failed":
      return `launch failed: ${reason.why}`;
    case "lease_over":
      return "its lease expired before a daemon returned";
    case "not_ready":
      return `not ready within ${duration(reason.after_ms)}${reason.saw ? `: ${reason.saw}` : ""}`;
    case "timed_out":
      return `timed out after ${duration(reason.limit_ms)}`;
    case "idle":
      return `idle for ${duration(reason.limit_ms)}`;
    case "silent":
      return `no output for ${duration(reason.limit_ms)}`;
    case "keeper_died":
      return "its keeper died";
    case "rebooted":
      return "the machine rebooted";
    case "forgotten":
      return `forgotten by ${reason.by}`;
  }
}

export function exitText(exit: Exit): string {
  switch (exit.kind) {
    case "code":
      return `exited with code ${exit.code}`;
    case "signal":
      return `killed by ${signalName(exit.signal)}${exit.oom ? ", out of memory" : ""}${exit.core ? ", core dumped" : ""}`;
    case "never_ran":
      return "did not start";
    case "unknown":
      return `exit status unknown: ${exit.why}`;
  }
}

const SIGNALS: Record<number, string> = {
  1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE",
  14: "ALRM", 15: "TERM", 18: "CONT", 19: "STOP",
};

export function signalName(number: number): string {
  return SIGNALS[number] ? `SIG${SIGNALS[number]}` : `signal ${number}`;
}

/** Returns what a session runs: its agent, or its command line. */
export function programText(session: SessionView): string {
  return session.spec.agent ? session.spec.agent.settings.agent : commandLine(session.spec.argv ?? []);
}

/** Returns the display name of a session: its name, its title, or what it runs. */
export function displayName(session: SessionView): string {
  return session.name ?? session.title ?? programText(session);
}

export function cleanupText(kind: OwedKind): string {
  switch (kind.kind) {
    case "runtime_files":
      return "runtime files";
    case "pen_folder":
      return `pen folder ${kind.path}`;
    case "worktree":
      return `worktree ${kind.path}`;
  }
}

/** Returns the display name with the id, because another session may take the same name later. */
export function nameWithId(session: SessionView): string {
  const name = truncate(displayName(session), 60);
  return name === session.session ? name : `${name} (${session.session})`;
}

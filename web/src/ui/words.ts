/** What the daemon tells, in words for people. */
import type { Exit, OwedKind, Reason, SessionView, VerdictKind } from "../api/types.ts";
import { isOver } from "../state/live.ts";
import { commandLine, duration, shortened } from "./format.ts";

export type Tone = "good" | "info" | "warn" | "bad" | "quiet";

/** Where a session stands: a word and its tone. */
export function standing(session: SessionView): { word: string; tone: Tone } {
  switch (session.phase) {
    case "queued":
      return { word: session.queue_place === null ? "queued" : `queued, place ${session.queue_place}`, tone: "quiet" };
    case "making":
      return { word: "making its worktree", tone: "info" };
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
      if (!isOver(session)) return { word: "to be launched again", tone: "info" };
      return ended(session);
  }
}

function ended(session: SessionView): { word: string; tone: Tone } {
  if (session.exit?.kind === "never_ran" && session.reason?.kind === "failed") return { word: "never ran", tone: "bad" };
  if (session.judged) {
    const kind = session.judged.verdict.kind;
    return { word: verdict(kind), tone: verdictTone(kind) };
  }
  const reason = session.reason?.kind;
  if (reason === "stopped" || reason === "shutdown" || reason === "parent_ended" || reason === "client_gone") {
    return { word: "stopped", tone: "quiet" };
  }
  if (reason === "exited" && session.exit?.kind === "code") {
    return session.exit.code === 0 ? { word: "done", tone: "quiet" } : { word: `failed, code ${session.exit.code}`, tone: "bad" };
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

/** Why it ended, in a sentence's part. */
export function because(reason: Reason): string {
  switch (reason.kind) {
    case "exited":
      return "it exited by itself";
    case "stopped":
      return `stopped by ${reason.by}`;
    case "client_gone":
      return "whoever started it has gone";
    case "parent_ended":
      return "the session that started it has ended";
    case "shutdown":
      return "the daemon was stopped, with its sessions";
    case "failed":
      return `it could not be launched: ${reason.why}`;
    case "lease_over":
      return "no daemon has come back in time";
    case "not_ready":
      return `it was not ready within ${duration(reason.after_ms)}${reason.saw ? `: ${reason.saw}` : ""}`;
    case "timed_out":
      return `it took longer than ${duration(reason.limit_ms)}`;
    case "idle":
      return `it was idle for ${duration(reason.limit_ms)}`;
    case "silent":
      return `it printed nothing for ${duration(reason.limit_ms)}`;
    case "keeper_died":
      return "its keeper died";
    case "rebooted":
      return "the machine was restarted";
    case "forgotten":
      return `given up by ${reason.by}`;
  }
}

export function exitText(exit: Exit): string {
  switch (exit.kind) {
    case "code":
      return `exited with code ${exit.code}`;
    case "signal":
      return `killed by ${signalName(exit.signal)}${exit.oom ? ", out of memory" : ""}${exit.core ? ", core dumped" : ""}`;
    case "never_ran":
      return "never ran";
    case "unknown":
      return `unknown: ${exit.why}`;
  }
}

const SIGNALS: Record<number, string> = {
  1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE",
  14: "ALRM", 15: "TERM", 18: "CONT", 19: "STOP",
};

export function signalName(number: number): string {
  return SIGNALS[number] ? `SIG${SIGNALS[number]}` : `signal ${number}`;
}

/** What a session runs: its agent, or its command. */
export function what(session: SessionView): string {
  return session.spec.agent ? session.spec.agent.seat.agent : commandLine(session.spec.argv ?? []);
}

/** What a session is called: its title by its own word, its name, or what it runs. */
export function called(session: SessionView): string {
  return session.name ?? session.title ?? what(session);
}

export function owedText(kind: OwedKind): string {
  switch (kind.kind) {
    case "runtime_files":
      return "its runtime files";
    case "pen_folder":
      return `the folder of its pen, ${kind.path}`;
    case "worktree":
      return `its worktree ${kind.path}`;
  }
}

/** Which session it is, beyond doubt: names may come to mean another one. */
export function titled(session: SessionView): string {
  const name = shortened(called(session), 60);
  return name === session.session ? name : `${name} (${session.session})`;
}

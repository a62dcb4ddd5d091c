import type { Tone } from "../../../ui/words.ts";

const KINDS: Record<string, [string, Tone]> = {
  queued: ["Queued", "quiet"],
  making: ["Making its worktree", "info"],
  reserved: ["On record", "info"],
  launching: ["Launching", "info"],
  starting: ["Starting", "info"],
  running: ["Running", "good"],
  ready: ["Ready", "good"],
  not_ready: ["Not ready in time", "bad"],
  reported: ["Reported", "quiet"],
  adopted: ["Taken over by a new daemon", "info"],
  keeper_lost: ["Keeper lost", "bad"],
  wanted_stopped: ["Stop wanted", "warn"],
  stopping: ["Stopping", "warn"],
  still_alive: ["Still alive", "bad"],
  exited: ["Agent exited", "quiet"],
  lost: ["Lost", "bad"],
  reaped: ["Pen seen empty", "quiet"],
  cleaned: ["Cleaned up", "quiet"],
  clean_up_failed: ["Clean-up failed", "bad"],
  kept: ["Worktree kept", "warn"],
  judged: ["Judged", "info"],
  restart_pending: ["To be launched again", "info"],
  restart_put_off: ["Launch put off", "warn"],
  not_restarted: ["Not launched again", "quiet"],
  retry_pending: ["To be tried again", "info"],
  not_retried: ["Not tried again", "quiet"],
  worktree: ["Worktree", "quiet"],
  worktree_removed: ["Worktree removed", "quiet"],
  trouble: ["Trouble", "bad"],
  report_refused: ["Report refused", "warn"],
  left_behind: ["Left behind", "warn"],
  orphan_ended: ["Orphan ended", "warn"],
  rejoined: ["Client back", "quiet"],
};

/** The kind of an event, in words, and how it looks. */
export function kindWords(kind: string): { word: string; tone: Tone } {
  const [word, tone] = KINDS[kind] ?? [kind.replaceAll("_", " "), "quiet"];
  return { word, tone };
}

/** To the millisecond. */
export function exactTime(time: string): string {
  const date = new Date(time);
  return `${date.toLocaleTimeString("en-GB")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** The day, as one writes it to sort it. */
export function day(time: string): string {
  return new Date(time).toLocaleDateString("en-CA");
}

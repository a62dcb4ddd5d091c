/** User-facing labels for the kinds of events. */
import type { Tone } from "./labels.ts";

const KINDS: Record<string, [string, Tone]> = {
  queued: ["Queued", "quiet"],
  making: ["Creating worktree", "info"],
  reserved: ["Recorded", "info"],
  launching: ["Launching", "info"],
  starting: ["Starting", "info"],
  running: ["Running", "good"],
  ready: ["Ready", "good"],
  not_ready: ["Not ready in time", "bad"],
  reported: ["Status reported", "quiet"],
  adopted: ["Taken over by a new daemon", "info"],
  keeper_lost: ["Keeper lost", "bad"],
  wanted_stopped: ["Stop requested", "warn"],
  stopping: ["Stopping", "warn"],
  still_alive: ["Still alive", "bad"],
  exited: ["Agent exited", "quiet"],
  lost: ["Lost", "bad"],
  reaped: ["All processes ended", "quiet"],
  cleaned: ["Cleaned up", "quiet"],
  clean_up_failed: ["Cleanup failed", "bad"],
  kept: ["Worktree kept", "warn"],
  judged: ["Verdict", "info"],
  restart_pending: ["Restart pending", "info"],
  restart_put_off: ["Restart postponed", "warn"],
  not_restarted: ["Not restarted", "quiet"],
  retry_pending: ["Retry pending", "info"],
  not_retried: ["Not retried", "quiet"],
  worktree: ["Worktree", "quiet"],
  worktree_removed: ["Worktree removed", "quiet"],
  trouble: ["Problem", "bad"],
  launch_failed: ["Launch failed", "bad"],
  report_refused: ["Status report refused", "warn"],
  left_behind: ["Ending leftover processes", "warn"],
  rejoined: ["Client reconnected", "quiet"],
  removed: ["Removed", "quiet"],
  daemon_started: ["Daemon started", "good"],
  daemon_leaving: ["Daemon stopping, sessions keep running", "warn"],
  daemon_stopping: ["Daemon stopping", "warn"],
  daemon_stopped: ["Daemon stopped", "warn"],
  yard_lost: ["Yard lost", "bad"],
  member_added: ["Member added", "info"],
  member_removed: ["Member removed", "info"],
  plan_begun: ["Plan started", "info"],
  plan_resumed: ["Plan resumed", "info"],
  plan_over: ["Plan ended", "info"],
};

/** Returns the label and the colour of an event kind. An unknown kind is shown as it is. */
export function kindLabel(kind: string): { text: string; tone: Tone } {
  const [text, tone] = KINDS[kind] ?? [kind.replaceAll("_", " "), "quiet"];
  return { text, tone };
}

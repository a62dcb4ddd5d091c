import type { Exit, Reason } from "../../../api/types.ts";
import { because, exitText } from "../../../ui/words.ts";

/** How a launch ended, as the end of its output tells it. */
export interface End {
  launch: string;
  exit: Exit | null;
  exit_code: number | null;
  reason: Reason | null;
  ended_at: string | null;
}

/** `The session has ended: exited with code 3.` */
export function outcome(end: End | null): string {
  if (!end) return "The session is no longer on record.";
  const exit = end.exit ? exitText(end.exit) : "it never ran";
  const reason = end.reason && end.reason.kind !== "exited" ? `, ${because(end.reason)}` : "";
  return `The session has ended: ${exit}${reason}.`;
}

import type { Exit, Reason } from "../../../api/types.ts";
import { reasonText, exitText } from "../../../ui/labels.ts";

/** The outcome of a launch, as the end of its output stream reports it. */
export interface End {
  launch: string;
  exit: Exit | null;
  exit_code: number | null;
  reason: Reason | null;
  ended_at: string | null;
}

/** `The session has ended: exited with code 3.` */
export function outcome(end: End | null): string {
  if (!end) return "The session was removed.";
  const exit = end.exit ? exitText(end.exit) : "did not start";
  const reason = end.reason && end.reason.kind !== "exited" ? `, ${reasonText(end.reason)}` : "";
  return `The session has ended: ${exit}${reason}.`;
}

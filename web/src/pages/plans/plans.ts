import type { EventView } from "../../api/types.ts";
import { launches } from "../../state/live.ts";

/** A plan goes on a moment after the event that lets it; so it is looked at once more. */
export const AGAIN_MS = 2000;

/** Whether an event may have changed how a plan stands. */
export function concernsPlans(event: EventView): boolean {
  if (event.session === null) return event.kind.startsWith("plan_");
  const launch = launches.value.get(event.session);
  return launch === undefined || !!launch.spec.agent?.plan;
}

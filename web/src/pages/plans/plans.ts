import type { EventView } from "../../api/types.ts";
import { launches } from "../../state/live.ts";

/** A plan advances a formatTime after the event that allows it, so it is also polled. */
export const POLL_MS = 2000;

/** Whether an event may have changed the state of a plan. */
export function affectsPlans(event: EventView): boolean {
  if (event.session === null) return event.kind.startsWith("plan_");
  const launch = launches.value.get(event.session);
  return launch === undefined || !!launch.spec.agent?.plan;
}

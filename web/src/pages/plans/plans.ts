import type { EventView } from "../../api/types.ts";
import { launches } from "../../state/live.ts";

/** A plan advances shortly after the event that allows it, so the page also polls it. */
export const POLL_MS = 2000;

/** Whether an event may have changed the state of a plan. */
export function affectsPlans(event: EventView): boolean {
  if (event.session === null) return event.kind.startsWith("plan_");
  const launch = launches.value.get(event.session);
  return launch === undefined || !!launch.spec.agent?.plan;
}

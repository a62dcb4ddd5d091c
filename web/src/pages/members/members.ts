import type { EventView, MemberView } from "../../api/types.ts";
import { type Fetched, useFetched } from "../../state/fetched.ts";
import { launches } from "../../state/live.ts";

/** Whether an event may have changed the state of a member. */
export function affectsMembers(event: EventView): boolean {
  if (event.session === null) return event.kind.startsWith("member_");
  const launch = launches.value.get(event.session);
  return launch === undefined || !!launch.spec.agent?.member;
}

export function useMembers(): Fetched<MemberView[]> {
  return useFetched<MemberView[]>("/v1/members", { when: affectsMembers });
}

import { computed } from "@preact/signals";

import type { SessionView } from "../api/types.ts";
import { launches } from "../state/live.ts";

const bySession = computed(() => {
  const found = new Map<string, SessionView[]>();
  for (const launch of launches.value.values()) {
    if (!launch.spec.agent) continue;
    const others = found.get(launch.session);
    if (others) others.push(launch);
    else found.set(launch.session, [launch]);
  }
  for (const attempts of found.values()) attempts.sort((a, b) => a.attempt - b.attempt);
  return found;
});

/** Returns all attempts of a prompt, oldest first. */
export function attemptsOf(session: string): readonly SessionView[] {
  return bySession.value.get(session) ?? [];
}

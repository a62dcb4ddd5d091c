import { computed, signal } from "@preact/signals";

import { get } from "../api/http.ts";
import type { DaemonView } from "../api/types.ts";
import { onHearing } from "./live.ts";

/** Who this browser is to the daemon. */
export interface Me {
  scope: "full" | "read_only";
}

export const daemon = signal<DaemonView | null>(null);
export const me = signal<Me | null>(null);
/** Whether this browser may change something; nothing is offered that would be refused. */
export const mayChange = computed(() => me.value?.scope === "full");

/** What can't be had now is asked for again when the daemon is heard; that it can't is said by the connection's state. */
async function look(): Promise<void> {
  await Promise.allSettled([
    get<DaemonView>("/v1/daemon").then((told) => void (daemon.value = told)),
    get<Me>("/v1/access/me").then((told) => void (me.value = told)),
  ]);
}

/** Begins to know; returns what ends it. */
export function know(): () => void {
  void look();
  return onHearing(() => void look());
}

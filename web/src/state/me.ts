import { computed, signal } from "@preact/signals";

import { get } from "../api/http.ts";
import type { DaemonView } from "../api/types.ts";
import { onReturn } from "./live.ts";

/** Who this browser is to the daemon. */
export interface Me {
  scope: "full" | "read_only";
}

export const daemon = signal<DaemonView | null>(null);
export const me = signal<Me | null>(null);
/** Whether this browser may change something; nothing is offered that would be refused. */
export const mayChange = computed(() => me.value?.scope === "full");

async function look(): Promise<void> {
  try {
    [daemon.value, me.value] = await Promise.all([get<DaemonView>("/v1/daemon"), get<Me>("/v1/access/me")]);
  } catch {
    // The connection's state says it; it is asked for again when the daemon is back.
  }
}

/** Begins to know; returns what ends it. */
export function know(): () => void {
  void look();
  return onReturn(() => void look());
}

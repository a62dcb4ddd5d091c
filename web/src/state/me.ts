import { computed, signal } from "@preact/signals";

import { get } from "../api/http.ts";
import type { DaemonView } from "../api/types.ts";
import { onConnected } from "./live.ts";

/** What this browser is allowed to do. */
export interface Me {
  scope: "full" | "read_only";
}

export const daemon = signal<DaemonView | null>(null);
export const me = signal<Me | null>(null);
/** Whether this browser may change anything. Actions that would be refused are hidden. */
export const mayChange = computed(() => me.value?.scope === "full");

/** Ignores errors: the connection state shows them, and the next connect retries. */
async function load(): Promise<void> {
  await Promise.allSettled([
    get<DaemonView>("/v1/daemon").then((view) => void (daemon.value = view)),
    get<Me>("/v1/access/me").then((view) => void (me.value = view)),
  ]);
}

/** Loads the daemon’s facts and this browser’s scope now and at every connect. */
export function keepIdentityLoaded(): () => void {
  void load();
  return onConnected(() => void load());
}

import { computed, effect, signal } from "@preact/signals";

import { connection, live } from "../state/live.ts";
import { daemon } from "../state/me.ts";

/** Since when the daemon has not answered; null while it does. */
export const lostSince = signal<number | null>(null);

effect(() => {
  if (connection.value !== "lost") lostSince.value = null;
  else lostSince.value = lostSince.peek() ?? Date.now();
});

/** The version of the daemon that this page was had from. */
const first = signal<string | null>(null);

effect(() => {
  if (first.peek() === null && daemon.value) first.value = daemon.value.version;
});

/** The version that runs by now, if it is another than the page's. */
export const upgradedTo = computed(() => {
  const version = daemon.value?.version ?? null;
  return first.value !== null && version !== first.value ? version : null;
});

/** What a tab shows before the page's title: how many sessions live, or that nobody knows. */
export const mark = computed(() => {
  if (connection.value === "lost") return "Not connected · ";
  if (connection.value === "signed_out") return "Signed out · ";
  return live.value.length > 0 ? `(${live.value.length.toLocaleString("en")}) ` : "";
});

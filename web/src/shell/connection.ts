import { computed, effect, signal } from "@preact/signals";

import { connection, live } from "../state/live.ts";
import { daemon } from "../state/me.ts";

/** When the connection to the daemon was lost; null while it is up. */
export const lostSince = signal<number | null>(null);

effect(() => {
  if (connection.value !== "lost") lostSince.value = null;
  else lostSince.value = lostSince.peek() ?? Date.now();
});

/** The version of the daemon that served this page. */
const first = signal<string | null>(null);

effect(() => {
  if (first.peek() === null && daemon.value) first.value = daemon.value.version;
});

/** The version of the current daemon, if it differs from the page’s. */
export const upgradedTo = computed(() => {
  const version = daemon.value?.version ?? null;
  return first.value !== null && version !== first.value ? version : null;
});

/** The prefix of the document title: the number of live sessions, or the connection state. */
export const mark = computed(() => {
  if (connection.value === "lost") return "Not connected · ";
  if (connection.value === "signed_out") return "Signed out · ";
  return live.value.length > 0 ? `(${live.value.length.toLocaleString("en")}) ` : "";
});

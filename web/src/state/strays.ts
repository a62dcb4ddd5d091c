import { signal } from "@preact/signals";

import { get } from "../api/http.ts";
import type { StrayView, StraysView } from "../api/types.ts";
import { connection } from "./live.ts";

/** Processes that belong to no live session, as last seen. */
export const strays = signal<StrayView[]>([]);
/** Processes of live sessions that are outside their pens. */
export const outside = signal<StrayView[]>([]);
/** Whether they have been looked for, and why not. */
export const looked = signal<"not yet" | "seen" | "failed">("not yet");
export const failure = signal<unknown>(null);

/** A look costs the daemon a walk over all processes. */
const EVERY_MS = 15_000;

export async function lookForStrays(): Promise<void> {
  try {
    const found = await get<StraysView>("/v1/strays");
    strays.value = found.strays;
    outside.value = found.outside;
    looked.value = "seen";
    failure.value = null;
  } catch (error) {
    failure.value = error;
    if (looked.value === "not yet") looked.value = "failed";
  }
}

void lookForStrays();
setInterval(() => {
  if (!document.hidden && connection.value === "live") void lookForStrays();
}, EVERY_MS);

import { signal } from "@preact/signals";

import { get, post } from "../api/http.ts";
import type { StraysEnded, StrayView, StraysView } from "../api/types.ts";
import { Asker } from "./asker.ts";
import { connection, onHearing } from "./live.ts";

/** Processes that belong to no live session, as last seen. */
export const strays = signal<StrayView[]>([]);
/** Processes of live sessions that are outside their pens. */
export const outside = signal<StrayView[]>([]);
/** Whether they have been looked for, and why not. */
export const looked = signal<"not yet" | "seen" | "failed">("not yet");
/** When they were last looked for with success. */
export const lookedAt = signal<string | null>(null);
/** Whether a look is under way. */
export const looking = signal(false);
export const failure = signal<unknown>(null);

/** A look costs the daemon a walk over all processes. */
const EVERY_MS = 15_000;

let waiting: (() => void)[] = [];

function settle(): void {
  looking.value = false;
  const told = waiting;
  waiting = [];
  for (const tell of told) tell();
}

const asker = new Asker<StraysView>((closing) => get("/v1/strays", closing), {
  told(found) {
    strays.value = found.strays;
    outside.value = found.outside;
    looked.value = "seen";
    lookedAt.value = new Date().toISOString();
    failure.value = null;
    settle();
  },
  failed(why) {
    failure.value = why;
    if (looked.value === "not yet") looked.value = "failed";
    settle();
  },
});

/** Looks now. What an earlier look sees is not waited for: it may be old. */
export function lookForStrays(): Promise<void> {
  looking.value = true;
  asker.askAnew();
  return new Promise((tell) => waiting.push(tell));
}

/** Ends these strays and no others, and says what came of it. A number that belongs to another process by then is left alone. */
export async function endStrays(meant: readonly StrayView[]): Promise<StraysEnded> {
  try {
    return await post<StraysEnded>("/v1/strays/end", { only: meant.map(({ pid, session }) => ({ pid, session })) });
  } finally {
    void lookForStrays();
  }
}

void lookForStrays();
onHearing(() => void lookForStrays());
setInterval(() => {
  if (!document.hidden && connection.value === "live" && !asker.isAsking) void lookForStrays();
}, EVERY_MS);

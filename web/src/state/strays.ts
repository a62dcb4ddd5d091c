import { signal } from "@preact/signals";

import { get, post } from "../api/http.ts";
import type { StraysEnded, StrayView, StraysView } from "../api/types.ts";
import { Refetcher } from "./refetcher.ts";
import { connection, onConnected } from "./live.ts";

/** Processes that belong to no live session, at the last scan. */
export const strays = signal<StrayView[]>([]);
/** Processes of live sessions outside their pens. */
export const outside = signal<StrayView[]>([]);
/** The result of the first scan. */
export const scanState = signal<"pending" | "done" | "failed">("pending");
/** The time of the last successful scan. */
export const scannedAt = signal<string | null>(null);
/** Whether a scan is under way. */
export const isScanning = signal(false);
export const failure = signal<unknown>(null);

/** A scan is expensive: the daemon examines all processes. */
const EVERY_MS = 15_000;

let waiting: (() => void)[] = [];

function settle(): void {
  isScanning.value = false;
  const resolvers = waiting;
  waiting = [];
  for (const resolve of resolvers) resolve();
}

const refetcher = new Refetcher<StraysView>((closing) => get("/v1/strays", closing), {
  loaded(found) {
    strays.value = found.strays;
    outside.value = found.outside;
    scanState.value = "done";
    scannedAt.value = new Date().toISOString();
    failure.value = null;
    settle();
  },
  failed(why) {
    failure.value = why;
    if (scanState.value === "pending") scanState.value = "failed";
    settle();
  },
});

/** Scans now and drops a scan that is under way: its result may be stale. */
export function scanForStrays(): Promise<void> {
  isScanning.value = true;
  refetcher.restart();
  return new Promise((resolve) => waiting.push(resolve));
}

/** Ends these strays and no others. The daemon skips a pid that belongs to another process by then. */
export async function endStrays(targets: readonly StrayView[]): Promise<StraysEnded> {
  try {
    return await post<StraysEnded>("/v1/strays/end", { only: targets.map(({ pid, session }) => ({ pid, session })) });
  } finally {
    void scanForStrays();
  }
}

void scanForStrays();
onConnected(() => void scanForStrays());
setInterval(() => {
  if (!document.hidden && connection.value === "live" && !refetcher.isFetching) void scanForStrays();
}, EVERY_MS);

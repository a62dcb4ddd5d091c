/** Requests for many items: a few at a time, and retried while the daemon restarts. */
import { ApiError } from "../api/http.ts";
import { connection } from "../state/live.ts";

/** A browser opens at most six connections to a host, shared by all tabs. */
const CONCURRENCY = 3;
/** A crashed daemon is replaced within seconds. */
const RETRY_FOR_MS = 30_000;

/** Runs `work` for each item in order, a few at a time. */
export async function forEachConcurrently<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const lane = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, lane));
}

/** Repeats a request until a daemon answers it. Only for requests that are safe to repeat. */
export async function retryWhileRestarting<T>(request: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + RETRY_FOR_MS;
  for (let pause = 100; ; pause = Math.min(pause * 2, 2000)) {
    try {
      return await request();
    } catch (error) {
      const isFinal = !(error instanceof ApiError) || !error.isTransient || connection.value === "signed_out";
      if (isFinal || Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

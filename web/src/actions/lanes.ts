/** Asking for many things at once, but not for all; and of a daemon that may be replaced meanwhile. */
import { Refusal } from "../api/http.ts";
import { connection } from "../state/live.ts";

/** So many are asked for at once: a browser has six connections to a host, for all of its tabs. */
const AT_ONCE = 3;
/** A daemon that has gone is followed by another within seconds. */
const PATIENCE_MS = 30_000;

/** Does something with each, some at a time, in their order. */
export async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const lane = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, lane));
}

/** Asks until some daemon answers. Only for what may be asked for twice. */
export async function overRestarts<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let pause = 100; ; pause = Math.min(pause * 2, 2000)) {
    try {
      return await ask();
    } catch (error) {
      const hopeless = !(error instanceof Refusal) || !error.passes || connection.value === "signed_out";
      if (hopeless || Date.now() > deadline) throw error;
    }
    await new Promise((soon) => setTimeout(soon, pause));
  }
}

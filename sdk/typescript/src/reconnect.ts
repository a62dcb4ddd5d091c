import { setTimeout as sleep } from "node:timers/promises";

import { KennelProblem, KennelUnreachable, type Reached } from "./errors.js";

const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 500;
/** A connection that lasted this long was healthy: its loss starts a new series. */
const HEALTHY_MS = 1000;

/** A connection that could not be opened, or was lost before the end of the response. */
export class ConnectionLost extends Error {
  constructor(
    readonly reached: Reached,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Whether the daemon is gone or shutting down, so that a retry may reach the next one. */
export function isLoss(error: unknown): boolean {
  return error instanceof ConnectionLost || (error instanceof KennelProblem && error.code === "gone");
}

/** Pauses between attempts to reconnect, up to a time limit. */
export class ReconnectTimer {
  #lostAt: number | undefined;
  #attemptAt = Date.now();
  #pause = FIRST_PAUSE_MS;

  constructor(
    private readonly limitMs: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Resets the time limit after a successful response. */
  reset(): void {
    this.#lostAt = undefined;
    this.#pause = FIRST_PAUSE_MS;
  }

  /** Pauses before the next attempt, or throws when the time limit is reached. */
  async wait(cause: unknown): Promise<void> {
    const now = Date.now();
    const wasConnected = !(cause instanceof ConnectionLost) || cause.reached === "maybe";
    if (wasConnected && now - this.#attemptAt > HEALTHY_MS) this.reset();
    this.#lostAt ??= now;
    if (now - this.#lostAt >= this.limitMs) throw unreachable(cause);
    await sleep(this.#pause, undefined, this.signal && { signal: this.signal }).catch((error: unknown) => {
      throw this.signal?.reason ?? error;
    });
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE_MS);
    this.#attemptAt = Date.now();
  }
}

/** Creates the error for the caller. */
export function unreachable(cause: unknown): KennelUnreachable {
  const reached = cause instanceof ConnectionLost ? cause.reached : "maybe";
  const why = cause instanceof Error ? cause.message : String(cause);
  return new KennelUnreachable(`the daemon is not reachable: ${why}`, reached, cause);
}

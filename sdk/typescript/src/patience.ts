import { setTimeout as sleep } from "node:timers/promises";

import { KennelProblem, KennelUnreachable, type Reached } from "./errors.js";

const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 500;
/** Who served so long was sound: its loss is not one of a series. */
const SOUND = 1000;

/** A connection that did not come to be, or was lost before all was heard. */
export class Lost extends Error {
  constructor(
    readonly reached: Reached,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Whether the daemon is gone or going, so that its next one may be asked. */
export function isLoss(error: unknown): boolean {
  return error instanceof Lost || (error instanceof KennelProblem && error.code === "gone");
}

/** How long a daemon that went is looked for, while what is asked of it may be asked again. */
export class Patience {
  #lostAt: number | undefined;
  #begunAt = Date.now();
  #pause = FIRST_PAUSE;

  constructor(
    private readonly limitMs: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** There was a word of it: whatever was lost is found again. */
  heard(): void {
    this.#lostAt = undefined;
    this.#pause = FIRST_PAUSE;
  }

  /** It went: pauses before the next look, or throws when the time is over. */
  async lost(cause: unknown): Promise<void> {
    const now = Date.now();
    const served = !(cause instanceof Lost) || cause.reached === "maybe";
    if (served && now - this.#begunAt > SOUND) this.heard();
    this.#lostAt ??= now;
    if (now - this.#lostAt >= this.limitMs) throw unreachable(cause);
    await sleep(this.#pause, undefined, this.signal && { signal: this.signal }).catch((error: unknown) => {
      throw this.signal?.reason ?? error;
    });
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    this.#begunAt = Date.now();
  }
}

/** The same for whoever called. */
export function unreachable(cause: unknown): KennelUnreachable {
  const reached = cause instanceof Lost ? cause.reached : "maybe";
  const why = cause instanceof Error ? cause.message : String(cause);
  return new KennelUnreachable(`no daemon answers: ${why}`, reached, cause);
}

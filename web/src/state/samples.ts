/** What a session used, at some time. */
export interface Sample {
  at_ms: number;
  cpu_ms: number;
  memory_bytes: number;
  processes: number;
}

/** As many are kept of each session. */
export const KEPT = 60;

/**
 * The CPU used from one sample to the next, in percent of a core; one fewer than there are samples. CPU time that goes back is
 * another launch's, or processes that took theirs with them: that is nothing used, and not less than nothing.
 */
export function percents(samples: readonly Sample[]): number[] {
  const found: number[] = [];
  for (let at = 1; at < samples.length; at += 1) {
    const [before, after] = [samples[at - 1]!, samples[at]!];
    const passed = after.at_ms - before.at_ms;
    found.push(passed > 0 ? Math.max(0, ((after.cpu_ms - before.cpu_ms) / passed) * 100) : 0);
  }
  return found;
}

/** The CPU used most recently, in percent of a core; none before there are two samples. */
export function percentNow(samples: readonly Sample[]): number | null {
  return percents(samples.slice(-2))[0] ?? null;
}

/** With another at the end. One that is no later than the last, by a clock that was set, is put in its place. */
export function added(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const before = samples.filter((one) => one.at_ms < sample.at_ms);
  return [...before, sample].slice(-KEPT);
}

/** What the daemon has kept, up to now by our clock: its own may be ahead. */
export function broughtHere(history: readonly Sample[], now: number): readonly Sample[] {
  const last = history.at(-1);
  if (!last) return [];
  const ahead = Math.max(0, last.at_ms - now + 1);
  return history.slice(-KEPT).map((sample) => ({ ...sample, at_ms: sample.at_ms - ahead }));
}

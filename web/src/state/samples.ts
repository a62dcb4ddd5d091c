/** The resource usage of a session at one time. */
export interface Sample {
  at_ms: number;
  cpu_ms: number;
  memory_bytes: number;
  processes: number;
}

/** How many samples are kept per session. */
export const KEPT = 60;

/**
 * Returns the CPU usage between samples in percent of a core: one value fewer than there are samples. CPU time that decreases,
 * after a restart or when processes ended, counts as 0.
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

/** Returns the latest CPU usage in percent of a core; null before there are two samples. */
export function percentNow(samples: readonly Sample[]): number | null {
  return percents(samples.slice(-2))[0] ?? null;
}

/** Appends a sample. If the clock went back, it replaces the samples that are no longer earlier. */
export function added(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const before = samples.filter((one) => one.at_ms < sample.at_ms);
  return [...before, sample].slice(-KEPT);
}

/** Shifts the daemon’s samples so that none is later than `now`: its clock may be ahead of the browser’s. */
export function adjustedToClock(history: readonly Sample[], now: number): readonly Sample[] {
  const last = history.at(-1);
  if (!last) return [];
  const ahead = Math.max(0, last.at_ms - now + 1);
  return history.slice(-KEPT).map((sample) => ({ ...sample, at_ms: sample.at_ms - ahead }));
}

/** Usage samples of a pen, prepared for charts. */
import type { Sample } from "../../../state/samples.ts";

/** About an hour with a sample every two seconds. */
const MAX_SAMPLES = 2000;

/** Appends a sample, unless it is not later than the last one. */
export function added(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1);
  if (last && sample.at_ms <= last.at_ms) return samples;
  return [...samples.slice(-(MAX_SAMPLES - 1)), sample];
}

/** Joins the daemon’s recorded samples with later ones of this page. */
export function joined(kept: readonly Sample[], seen: readonly Sample[]): readonly Sample[] {
  const last = kept.at(-1)?.at_ms ?? 0;
  return [...kept, ...seen.filter((sample) => sample.at_ms > last)].slice(-MAX_SAMPLES);
}

/** Chart data: times in seconds and their values; null where unknown. */
export interface Series {
  times: number[];
  values: (number | null)[];
}

/** Returns the CPU usage in percent of one core: 200 is two cores. The first value is unknown. */
export function cpuPercent(samples: readonly Sample[]): Series {
  const values = samples.map((sample, at) => {
    const before = samples[at - 1];
    if (!before) return null;
    const used = sample.cpu_ms - before.cpu_ms;
    // The CPU time of a new launch starts at 0.
    return used < 0 ? null : (100 * used) / (sample.at_ms - before.at_ms);
  });
  return { times: samples.map((sample) => sample.at_ms / 1000), values };
}

export function column(samples: readonly Sample[], of: "memory_bytes" | "processes"): Series {
  return { times: samples.map((sample) => sample.at_ms / 1000), values: samples.map((sample) => sample[of]) };
}

/** Returns the last known and the highest value. */
export function summary(series: Series): { last: number | null; highest: number | null } {
  const known = series.values.filter((value): value is number => value !== null);
  return { last: known.at(-1) ?? null, highest: known.length > 0 ? known.reduce((a, b) => Math.max(a, b)) : null };
}

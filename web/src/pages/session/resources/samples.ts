/** What a pen has used, look by look, as charts need it. */
import type { Sample } from "../../../state/samples.ts";

/** An hour at a look every two seconds, and a bit. */
const MOST = 2000;

/** With another one; what is no later than the last changes nothing. */
export function added(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1);
  if (last && sample.at_ms <= last.at_ms) return samples;
  return [...samples.slice(-(MOST - 1)), sample];
}

/** What the daemon has kept, and what was seen after that. */
export function joined(kept: readonly Sample[], seen: readonly Sample[]): readonly Sample[] {
  const last = kept.at(-1)?.at_ms ?? 0;
  return [...kept, ...seen.filter((sample) => sample.at_ms > last)].slice(-MOST);
}

/** The lines of a chart: times in seconds, and a value for each; null where nobody can tell. */
export interface Series {
  times: number[];
  values: (number | null)[];
}

/** Of one core, in hundredths: 200 is two cores. It is known from the second look on. */
export function cpuPercent(samples: readonly Sample[]): Series {
  const values = samples.map((sample, at) => {
    const before = samples[at - 1];
    if (!before) return null;
    const used = sample.cpu_ms - before.cpu_ms;
    // A launch that came after another begins to count anew.
    return used < 0 ? null : (100 * used) / (sample.at_ms - before.at_ms);
  });
  return { times: samples.map((sample) => sample.at_ms / 1000), values };
}

export function column(samples: readonly Sample[], of: "memory_bytes" | "processes"): Series {
  return { times: samples.map((sample) => sample.at_ms / 1000), values: samples.map((sample) => sample[of]) };
}

/** The last that is known, and the highest. */
export function summary(series: Series): { last: number | null; highest: number | null } {
  const known = series.values.filter((value): value is number => value !== null);
  return { last: known.at(-1) ?? null, highest: known.length > 0 ? known.reduce((a, b) => Math.max(a, b)) : null };
}

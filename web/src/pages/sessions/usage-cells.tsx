import { percentNow, percents } from "../../state/samples.ts";
import { usageOf } from "../../state/usage.ts";
import { bytes } from "../../ui/format.ts";
import { Sparkline } from "../../ui/sparkline.tsx";

const SLOTS = 30;

/** Formats a percentage of one core: `12%`. */
export function percent(value: number): string {
  return `${value < 9.95 && value >= 0.05 ? value.toFixed(1) : Math.round(value)}%`;
}

/** The current CPU usage of a launch and its history. */
export function Cpu({ launch }: { launch: string }) {
  const samples = usageOf(launch).value;
  const now = percentNow(samples);
  if (samples.length === 0) return <div role="gridcell" class="cell-cpu" />;
  const values = percents(samples);
  return (
    <div role="gridcell" class="cell-cpu used">
      <Sparkline values={values} most={Math.max(100, ...values)} slots={SLOTS} label={now === null ? "CPU usage not yet known" : `CPU usage ${percent(now)}`} />
      <span class="figure" aria-hidden="true">{now === null ? "…" : percent(now)}</span>
    </div>
  );
}

/** The current memory usage of a launch and its history. */
export function Memory({ launch }: { launch: string }) {
  const samples = usageOf(launch).value;
  const last = samples.at(-1);
  if (!last) return <div role="gridcell" class="cell-memory" />;
  const values = samples.map((sample) => sample.memory_bytes);
  return (
    <div role="gridcell" class="cell-memory used">
      <Sparkline values={values} most={Math.max(...values) * 1.2} slots={SLOTS} label={`Memory usage ${bytes(last.memory_bytes)}`} />
      <span class="figure" aria-hidden="true">{bytes(last.memory_bytes)}</span>
    </div>
  );
}

import { percentNow, percents } from "../../state/samples.ts";
import { usageOf } from "../../state/usage.ts";
import { bytes } from "../../ui/format.ts";
import { Sparkline } from "../../ui/sparkline.tsx";

const SLOTS = 30;

/** `12 %`, of one core. */
export function percent(value: number): string {
  return `${value < 9.95 && value >= 0.05 ? value.toFixed(1) : Math.round(value)}%`;
}

/** The CPU that a launch uses now, and how it went. */
export function Cpu({ launch }: { launch: string }) {
  const samples = usageOf(launch).value;
  const now = percentNow(samples);
  if (samples.length === 0) return <div role="gridcell" class="cell-cpu" />;
  const values = percents(samples);
  return (
    <div role="gridcell" class="cell-cpu used">
      <Sparkline values={values} most={Math.max(100, ...values)} slots={SLOTS} label={now === null ? "CPU not yet known" : `CPU now ${percent(now)}`} />
      <span class="figure" aria-hidden="true">{now === null ? "…" : percent(now)}</span>
    </div>
  );
}

/** The memory that it uses. */
export function Memory({ launch }: { launch: string }) {
  const samples = usageOf(launch).value;
  const last = samples.at(-1);
  if (!last) return <div role="gridcell" class="cell-memory" />;
  const values = samples.map((sample) => sample.memory_bytes);
  return (
    <div role="gridcell" class="cell-memory used">
      <Sparkline values={values} most={Math.max(...values) * 1.2} slots={SLOTS} label={`Memory now ${bytes(last.memory_bytes)}`} />
      <span class="figure" aria-hidden="true">{bytes(last.memory_bytes)}</span>
    </div>
  );
}

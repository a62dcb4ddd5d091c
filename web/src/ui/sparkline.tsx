import { line } from "./spark.ts";

/** A small line chart, with the latest value at the right. */
export function Sparkline({ values, most, label, slots }: { values: readonly number[]; most: number; label: string; slots: number }) {
  return (
    <svg class="sparkline" viewBox="0 0 64 18" preserveAspectRatio="none" role="img" aria-label={label}>
      {values.length > 1 && <path d={line(values, most, slots, 64, 18)} vector-effect="non-scaling-stroke" />}
    </svg>
  );
}

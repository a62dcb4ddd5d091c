import { useEffect, useRef } from "preact/hooks";

import { bytes } from "../../../../ui/format.ts";
import type { Window } from "./window.ts";

const SETTLE_MS = 120;
const STEPS = 1000;

/** A slider for the position in the whole output. It is hidden if the whole output is loaded. */
export function PositionSlider({ log, offset }: { log: Window; offset: number }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (!log.hasOlder.value && !log.hasNewer.value) return null;
  const [start, end] = [log.start.value, log.end.value];
  const size = Math.max(1, end - start);
  const at = log.following.value ? STEPS : Math.round((STEPS * (offset - start)) / size);
  const move = (step: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void (step >= STEPS ? log.toEnd() : log.to(Math.floor(start + (step * size) / STEPS))), SETTLE_MS);
  };
  return (
    <div class="log-position small muted">
      <span>{bytes(Math.max(0, offset - start))}</span>
      <input
        type="range"
        aria-label="Position in the output"
        aria-valuetext={`${bytes(Math.max(0, offset - start))} of ${bytes(size)}`}
        min={0}
        max={STEPS}
        value={at}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <span>{bytes(size)}</span>
    </div>
  );
}

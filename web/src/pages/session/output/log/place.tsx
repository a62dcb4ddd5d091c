import { useEffect, useRef } from "preact/hooks";

import { bytes } from "../../../../ui/format.ts";
import type { Window } from "./window.ts";

const STILL_MS = 120;
const STEPS = 1000;

/** Where in the whole output the view is; moves it. Only if there is more than is held. */
export function Place({ log, place }: { log: Window; place: number }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (!log.hasOlder.value && !log.hasNewer.value) return null;
  const [start, end] = [log.start.value, log.end.value];
  const size = Math.max(1, end - start);
  const at = log.following.value ? STEPS : Math.round((STEPS * (place - start)) / size);
  const move = (step: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void (step >= STEPS ? log.toEnd() : log.to(Math.floor(start + (step * size) / STEPS))), STILL_MS);
  };
  return (
    <div class="log-place small muted">
      <span>{bytes(Math.max(0, place - start))}</span>
      <input
        type="range"
        aria-label="Place in the output"
        aria-valuetext={`${bytes(Math.max(0, place - start))} of ${bytes(size)}`}
        min={0}
        max={STEPS}
        value={at}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <span>{bytes(size)}</span>
    </div>
  );
}

import { useEffect, useRef, useState } from "preact/hooks";

/** A value that changes often, taken at most so often; the last one always is. */
export function useUnhurried<T>(value: T, pauseMs: number): T {
  const [taken, take] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (timer.current !== undefined || value === taken) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      take(latest.current);
    }, pauseMs);
  }, [value, taken]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return taken;
}

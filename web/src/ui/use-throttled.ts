import { useEffect, useRef, useState } from "preact/hooks";

/** Returns a value that changes at most every `pauseMs`, and always ends with the latest one. */
export function useThrottled<T>(value: T, pauseMs: number): T {
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

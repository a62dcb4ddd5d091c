import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";

import { get } from "../api/http.ts";
import { onEvents, onReturn } from "./live.ts";
import type { EventView } from "../api/types.ts";

/** What was asked for: the last that was told, and whether it can be had now. */
export interface Fetched<T> {
  value: Signal<T | null>;
  /** Why it can't be had; what was told before stays. */
  error: Signal<unknown>;
  again: () => void;
}

const TOGETHER_MS = 60;

/**
 * Asks for something, and anew whenever an event that has to do with it is heard, and when a daemon is back. With `every`, at
 * that interval too, while somebody looks.
 */
export function useFetched<T>(path: string, options: { when?: (event: EventView) => boolean; every?: number } = {}): Fetched<T> {
  const value = useSignal<T | null>(null);
  const error = useSignal<unknown>(null);
  const turn = useSignal(0);
  const asking = useRef(false);
  const again = useCallback(() => void (turn.value += 1), []);
  const { when, every } = options;
  useEffect(() => {
    value.value = null;
    error.value = null;
  }, [path]);
  useEffect(() => {
    const closing = new AbortController();
    asking.current = true;
    get<T>(path, closing.signal).then(
      (told) => {
        asking.current = false;
        value.value = told;
        error.value = null;
      },
      (failed: unknown) => {
        if (closing.signal.aborted) return;
        asking.current = false;
        error.value = failed;
      },
    );
    return () => closing.abort();
  }, [path, turn.value]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        again();
      }, TOGETHER_MS);
    };
    const deaf = when && onEvents((events) => events.some(when) && soon());
    const back = onReturn(again);
    // An answer that takes longer than that is waited for, and not asked for anew.
    const interval = every === undefined ? undefined : setInterval(() => document.hidden || asking.current || again(), every);
    return () => {
      clearTimeout(timer);
      clearInterval(interval);
      deaf?.();
      back();
    };
  }, [path, every]);
  return { value, error, again };
}

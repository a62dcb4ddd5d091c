import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";

import { get, Refusal } from "../api/http.ts";
import type { EventView } from "../api/types.ts";
import { Asker } from "./asker.ts";
import { onEvents, onHearing } from "./live.ts";

/** What was asked for: the last that was told, and whether it can be had now. */
export interface Fetched<T> {
  value: Signal<T | null>;
  /** Why it can't be had; what was told before stays. */
  error: Signal<unknown>;
  again: () => void;
}

const TOGETHER_MS = 60;
/** After a failure it is asked again, later and later. */
const FAILED_MS = 1000;
const FAILED_LONGEST_MS = 15_000;

/** Whether another answer may be had later, without anything that would be heard of. */
function mayPass(why: unknown): boolean {
  return !(why instanceof Refusal) || why.passes || why.status === 429 || why.status >= 500;
}

/**
 * Asks for something, and anew whenever an event that has to do with it is heard, and when events are heard (again): what was
 * told before may be older than the first of them. With `every`, at that interval too, while somebody looks.
 */
export function useFetched<T>(path: string, options: { when?: (event: EventView) => boolean; every?: number } = {}): Fetched<T> {
  const value = useSignal<T | null>(null);
  const error = useSignal<unknown>(null);
  const asker = useRef<Asker<T> | null>(null);
  const again = useCallback(() => asker.current?.ask(), []);
  const when = useRef(options.when);
  when.current = options.when;
  const { every } = options;
  useEffect(() => {
    value.value = null;
    error.value = null;
    let failures = 0;
    let later: ReturnType<typeof setTimeout> | undefined;
    const current = new Asker<T>((closing) => get<T>(path, closing), {
      told(answer) {
        failures = 0;
        clearTimeout(later);
        value.value = answer;
        error.value = null;
      },
      failed(why) {
        error.value = why;
        if (!mayPass(why)) return;
        clearTimeout(later);
        later = setTimeout(() => current.ask(), Math.min(FAILED_MS * 2 ** failures++, FAILED_LONGEST_MS));
      },
    });
    asker.current = current;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        current.ask();
      }, TOGETHER_MS);
    };
    const deaf = onEvents((events) => when.current && events.some(when.current) && soon());
    const hearing = onHearing(() => current.askAnew());
    current.ask();
    return () => {
      clearTimeout(timer);
      clearTimeout(later);
      deaf();
      hearing();
      current.close();
    };
  }, [path]);
  useEffect(() => {
    if (every === undefined) return;
    // An answer that takes longer than that is waited for, and not asked for anew.
    const interval = setInterval(() => document.hidden || asker.current?.isAsking || again(), every);
    return () => clearInterval(interval);
  }, [every]);
  return { value, error, again };
}

import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";

import { get, ApiError } from "../api/http.ts";
import type { EventView } from "../api/types.ts";
import { Refetcher } from "./refetcher.ts";
import { onEvents, onConnected } from "./live.ts";

/** A fetched resource: the last value, and the error of the last request. */
export interface Fetched<T> {
  value: Signal<T | null>;
  /** The error of the last request; the last value is kept. */
  error: Signal<unknown>;
  refetch: () => void;
}

const BATCH_MS = 60;
/** Failed requests are retried with growing delays. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 15_000;

/** Whether to retry the request after this error without waiting for an event. */
function isRetryable(why: unknown): boolean {
  return !(why instanceof ApiError) || why.isTransient || why.status === 429 || why.status >= 500;
}

/**
 * Fetches a resource. Fetches it again at every event that `when` accepts, and whenever the event stream connects, because the last
 * value may be older than the first event. With `every`, also fetches it at that interval while the page is visible.
 */
export function useFetched<T>(path: string, options: { when?: (event: EventView) => boolean; every?: number } = {}): Fetched<T> {
  const value = useSignal<T | null>(null);
  const error = useSignal<unknown>(null);
  const refetcher = useRef<Refetcher<T> | null>(null);
  const refetch = useCallback(() => refetcher.current?.refetch(), []);
  const when = useRef(options.when);
  when.current = options.when;
  const { every } = options;
  useEffect(() => {
    value.value = null;
    error.value = null;
    let failures = 0;
    let later: ReturnType<typeof setTimeout> | undefined;
    const current = new Refetcher<T>((closing) => get<T>(path, closing), {
      loaded(answer) {
        failures = 0;
        clearTimeout(later);
        value.value = answer;
        error.value = null;
      },
      failed(why) {
        error.value = why;
        if (!isRetryable(why)) return;
        clearTimeout(later);
        later = setTimeout(() => current.refetch(), Math.min(RETRY_MS * 2 ** failures++, MAX_RETRY_MS));
      },
    });
    refetcher.current = current;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const scheduleRefetch = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        current.refetch();
      }, BATCH_MS);
    };
    const unsubscribeEvents = onEvents((events) => when.current && events.some(when.current) && scheduleRefetch());
    const unsubscribeConnected = onConnected(() => current.restart());
    current.refetch();
    return () => {
      clearTimeout(timer);
      clearTimeout(later);
      unsubscribeEvents();
      unsubscribeConnected();
      current.close();
    };
  }, [path]);
  useEffect(() => {
    if (every === undefined) return;
    // Do not send another request while one is under way.
    const interval = setInterval(() => document.hidden || refetcher.current?.isFetching || refetch(), every);
    return () => clearInterval(interval);
  }, [every]);
  return { value, error, refetch };
}

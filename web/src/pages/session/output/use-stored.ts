import { type Signal, useSignal, useSignalEffect } from "@preact/signals";

/** A setting that is stored in this browser. */
export function useStored(key: string, initial: boolean): Signal<boolean> {
  const stored = localStorage.getItem(key);
  const value = useSignal(stored === null ? initial : stored === "true");
  useSignalEffect(() => localStorage.setItem(key, String(value.value)));
  return value;
}

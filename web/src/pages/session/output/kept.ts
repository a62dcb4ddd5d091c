import { type Signal, useSignal, useSignalEffect } from "@preact/signals";

/** A choice that this browser keeps. */
export function useKept(key: string, initial: boolean): Signal<boolean> {
  const stored = localStorage.getItem(key);
  const value = useSignal(stored === null ? initial : stored === "true");
  useSignalEffect(() => localStorage.setItem(key, String(value.value)));
  return value;
}

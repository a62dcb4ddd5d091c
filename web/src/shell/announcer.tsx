import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** Announces page changes to screen readers. The browser announces the first page itself. */
export function Announcer({ title }: { title: string }) {
  const announced = useSignal("");
  const before = useRef(title);
  useEffect(() => {
    if (before.current === title) return;
    before.current = title;
    announced.value = title;
    // The focused element may have been removed with the previous page.
    if (document.activeElement === document.body) document.querySelector("main")?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="hidden-visually" aria-live="polite" data-announcer>
      {announced.value}
    </div>
  );
}

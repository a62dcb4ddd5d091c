import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** Tells those who can't see which page they have come to; the first one is told by the browser itself. */
export function Announcer({ title }: { title: string }) {
  const told = useSignal("");
  const before = useRef(title);
  useEffect(() => {
    if (before.current === title) return;
    before.current = title;
    told.value = title;
    // What had the focus may have gone with the page before.
    if (document.activeElement === document.body) document.querySelector("main")?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="hidden-visually" aria-live="polite" data-announcer>
      {told.value}
    </div>
  );
}

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { fromTo, kept, within } from "./visible-range.ts";

interface Props<T> {
  items: readonly T[];
  keyOf: (item: T) => string;
  /** The height of every row, in pixels. */
  rowHeight: number;
  /** Renders a row, which must position itself at `top`. */
  row: (item: T, at: number, top: number) => ComponentChildren;
  /** The key of a row that is always rendered: a focused row must not be removed when it scrolls out of view. */
  always?: string | null;
  /** Keeps the visible rows in place when rows above them are added or removed. */
  steady?: boolean;
  /** The heights of bars that overlap the list at the top and bottom, in pixels. */
  covered?: { above: number; below: number };
}

/**
 * A long list that renders only the visible rows. It scrolls with the page, so that there is only one scrollbar.
 */
export function Virtual<T>({ items, keyOf, rowHeight, row, always, steady, covered }: Props<T>) {
  const element = useRef<HTMLDivElement>(null);
  const range = useSignal({ from: 0, to: 0 });
  const before = useRef<{ items: readonly T[]; rowHeight: number }>({ items, rowHeight });

  const measure = () => {
    const list = element.current;
    if (!list) return;
    const next = fromTo(-list.getBoundingClientRect().top, innerHeight, rowHeight, items.length);
    if (next.from !== range.value.from || next.to !== range.value.to) range.value = next;
  };
  const measureLatest = useRef(measure);
  measureLatest.current = measure;
  useLayoutEffect(() => {
    const list = element.current;
    const was = before.current;
    before.current = { items, rowHeight };
    if (list && steady && was.items !== items && was.rowHeight === rowHeight) {
      const hidden = -list.getBoundingClientRect().top + (covered?.above ?? 0);
      const moved = kept(was.items, items, keyOf, Math.floor(hidden / rowHeight));
      if (hidden > 0 && moved !== 0) scrollBy({ top: moved * rowHeight, behavior: "instant" });
    }
    measure();
  });
  useEffect(() => {
    let frame = 0;
    const scheduleMeasure = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        measureLatest.current();
      });
    };
    addEventListener("scroll", scheduleMeasure, { passive: true });
    addEventListener("resize", scheduleMeasure);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", scheduleMeasure);
      removeEventListener("resize", scheduleMeasure);
    };
  }, []);
  const shown = within(range.value, items, always ?? null, keyOf);
  return (
    <div ref={element} class="virtual" role="rowgroup" style={{ height: `${items.length * rowHeight}px` }}>
      {shown.map((at) => row(items[at]!, at, at * rowHeight))}
    </div>
  );
}

/** Scrolls a row into view. */
export function reveal(list: Element, at: number, rowHeight: number, covered: { above: number; below: number }): void {
  const top = list.getBoundingClientRect().top + at * rowHeight;
  if (top < covered.above) scrollBy({ top: top - covered.above, behavior: "instant" });
  else if (top + rowHeight > innerHeight - covered.below) {
    scrollBy({ top: top + rowHeight - innerHeight + covered.below, behavior: "instant" });
  }
}

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { outcome } from "../outcome.ts";
import { Row } from "./row.tsx";
import type { Window } from "./window.ts";

/** More lines are loaded within this many view heights of either end. */
const NEAR = 2;
/** The height of the navigation bar on phones, with some margin. */
const BAR = 80;
/** Scroll events within this time after a gesture are attributed to the user: scrolling has momentum. */
const GESTURE_MS = 1500;
/** A scroll position within this many pixels of the end counts as the end. */
const END_TOLERANCE = 6;

interface Props {
  log: Window;
  needle: string;
  found: number | null;
  wrap: boolean;
  times: boolean;
  /** Called with the offset of the first visible line. */
  onPosition: (offset: number) => void;
  element: { current: HTMLDivElement | null };
}

/** The loaded lines in a scrolling view. Visible lines stay in place when others are added or dropped. */
export function Viewport({ log, needle, found, wrap, times, onPosition, element }: Props) {
  const anchor = useRef<{ offset: string; top: number } | null>(null);
  const top = useRef(0);
  /** The time of the last scroll gesture; infinite while a pointer is down. */
  const gesture = useRef(-Infinity);
  const items = log.items.value;
  const open = log.open.value;
  const ended = log.ended.value;
  const target = log.target.value;

  const update = () => {
    const view = element.current;
    if (!view) return;
    const first = firstVisible(view);
    anchor.current = first && { offset: first.dataset["offset"] ?? "", top: first.offsetTop - view.scrollTop };
    if (anchor.current) onPosition(Number(anchor.current.offset));
    const below = view.scrollHeight - view.scrollTop - view.clientHeight;
    if (view.scrollTop < NEAR * view.clientHeight) void log.older();
    if (below < NEAR * view.clientHeight) void log.newer();
    top.current = view.scrollTop;
  };

  const onScroll = () => {
    const view = element.current;
    if (!view) return;
    const atEnd = view.scrollHeight - view.scrollTop - view.clientHeight <= END_TOLERANCE;
    if (atEnd && !log.hasNewer.value) {
      log.following.value = true;
      log.unseen.value = 0;
    } else if (!atEnd && view.scrollTop < top.current && performance.now() - gesture.current < GESTURE_MS) {
      // When lines are dropped, the view scrolls up as well, but without a gesture.
      log.following.value = false;
    }
    update();
  };

  useLayoutEffect(() => {
    const view = element.current;
    if (!view) return;
    const aim = target === null ? null : rowAt(view, String(target));
    const before = anchor.current;
    if (aim) {
      view.scrollTop = aim.offsetTop - Math.max(0, (view.clientHeight - aim.offsetHeight) / 2);
      // On phones the log itself may be scrolled out of view or behind the bar.
      const { top: above, bottom } = aim.getBoundingClientRect();
      if (above < 0 || bottom > innerHeight - BAR) aim.scrollIntoView({ block: "center" });
      log.target.value = null;
    } else if (log.following.value) {
      view.scrollTop = view.scrollHeight;
    } else if (before) {
      const row = rowAt(view, before.offset);
      if (row) view.scrollTop = row.offsetTop - before.top;
    }
    update();
  }, [items, open, ended, target, wrap, times]);

  useEffect(() => {
    const view = element.current;
    if (!view) return;
    const observer = new ResizeObserver(() => {
      if (log.following.value) view.scrollTop = view.scrollHeight;
    });
    observer.observe(view);
    return () => observer.disconnect();
  }, []);

  const moved = () => void (gesture.current = performance.now());
  const onPointerDown = () => {
    gesture.current = Infinity;
    addEventListener("pointerup", moved, { once: true });
    addEventListener("pointercancel", moved, { once: true });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    moved();
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== element.current) return;
    if (event.key === "End") void log.toEnd();
    else if (event.key === "Home") void log.to(0);
    else return;
    event.preventDefault();
  };

  return (
    <div
      ref={element}
      class={`log-view${wrap ? " wraps" : ""}${times ? " has-times" : ""}`}
      role="region"
      aria-label="Session output"
      tabIndex={0}
      onScroll={onScroll}
      onWheel={moved}
      onTouchMove={moved}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    >
      {log.hasOlder.value && <p class="log-edge">More output above</p>}
      {items.map((item) => (
        <Row key={`${item.kind}${item.offset}`} item={item} needle={needle} isFound={found === item.offset} />
      ))}
      {open && <Row key={`line${open.offset}`} item={open} needle={needle} isFound={found === open.offset} />}
      {log.hasNewer.value && <p class="log-edge">More output below</p>}
      {ended !== undefined && !log.hasNewer.value && <p class="log-end foreign">{outcome(ended)}</p>}
    </div>
  );
}

function rowAt(view: HTMLElement, offset: string): HTMLElement | null {
  return view.querySelector<HTMLElement>(`[data-offset="${offset}"]`);
}

function firstVisible(view: HTMLElement): HTMLElement | null {
  const rows = view.querySelectorAll<HTMLElement>("[data-offset]");
  let [low, high] = [0, rows.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle] as HTMLElement;
    if (row.offsetTop + row.offsetHeight > view.scrollTop) high = middle;
    else low = middle + 1;
  }
  return rows[low] ?? null;
}

/** Returns the offsets of the visible rows. */
export function visibleOffsets(view: HTMLElement): Set<string> {
  const rows = [...view.querySelectorAll<HTMLElement>("[data-offset]")];
  const bottom = view.scrollTop + view.clientHeight;
  const seen = rows.filter((row) => row.offsetTop + row.offsetHeight > view.scrollTop && row.offsetTop < bottom);
  return new Set(seen.map((row) => row.dataset["offset"] ?? ""));
}

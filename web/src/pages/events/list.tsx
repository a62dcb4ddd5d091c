import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";

import type { EventView } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { pluralize } from "../../ui/format.ts";
import type { Entry } from "./log.ts";
import { Row } from "./row.tsx";

/** The row heights in pixels, as in the stylesheet. */
const ROW = 30;
const PHONE_ROW = 58;
/** Extra rows above and below the visible ones. */
const BEYOND = 12;

const phone = matchMedia("(max-width: 760px)");

/** The event list. It renders only the visible rows, and follows the newest event until the user scrolls up. */
export function List(props: { entries: readonly Entry[]; show: (event: EventView) => void; before: ComponentChildren; isLive: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const above = useRef<HTMLDivElement>(null);
  const at = useSignal(0);
  const height = useSignal(600);
  const row = useSignal(phone.matches ? PHONE_ROW : ROW);
  const isAtEnd = useSignal(true);
  useEffect(() => watch(box.current, height, row), []);
  useScrollAnchor(box, props.entries, row.value, isAtEnd);
  const unseen = useUnseen(props.entries, isAtEnd.value);
  const scrolled = () => {
    const it = box.current;
    if (!it) return;
    at.value = Math.max(0, it.scrollTop - (above.current?.offsetHeight ?? 0));
    isAtEnd.value = it.scrollTop + it.clientHeight >= it.scrollHeight - row.value;
  };
  const toEnd = () => box.current?.scrollTo({ top: box.current.scrollHeight });
  const first = Math.max(0, Math.floor(at.value / row.value) - BEYOND);
  const last = Math.min(props.entries.length, Math.ceil((at.value + height.value) / row.value) + BEYOND);
  return (
    <div class="event-frame">
      <div class="event-box" ref={box} tabIndex={0} role="region" aria-label="Event log" onScroll={scrolled}>
        <div ref={above}>{props.before}</div>
        <div class="event-rows" role="table" aria-label="Events" aria-rowcount={props.entries.length} style={{ height: `${props.entries.length * row.value}px` }}>
          {props.entries.slice(first, last).map((entry, index) => (
            <Row key={`${entry.seq}${entry.event ? "" : "m"}`} entry={entry} at={first + index} top={(first + index) * row.value} show={props.show} />
          ))}
        </div>
      </div>
      {!isAtEnd.value && (
        <div class="to-newest">
          <Button icon="down" onClick={toEnd}>
            {unseen > 0 ? pluralize(unseen, "new event") : "Jump to newest"}
          </Button>
        </div>
      )}
      <div class="hidden-visually" role="status">
        {props.isLive ? "" : "Paused"}
      </div>
    </div>
  );
}

function watch(box: HTMLDivElement | null, height: Signal<number>, row: Signal<number>): (() => void) | undefined {
  if (!box) return undefined;
  const sizes = new ResizeObserver(() => void (height.value = box.clientHeight));
  sizes.observe(box);
  const changed = () => void (row.value = phone.matches ? PHONE_ROW : ROW);
  phone.addEventListener("change", changed);
  return () => {
    sizes.disconnect();
    phone.removeEventListener("change", changed);
  };
}

/** Keeps the visible rows in place when older rows are added or removed, or follows the newest event. */
function useScrollAnchor(box: { current: HTMLDivElement | null }, entries: readonly Entry[], row: number, isAtEnd: Signal<boolean>): void {
  const before = useRef<readonly Entry[]>([]);
  useLayoutEffect(() => {
    const it = box.current;
    const [was] = before.current;
    const [is] = entries;
    before.current = entries;
    if (!it) return;
    if (isAtEnd.peek()) {
      it.scrollTop = it.scrollHeight;
      return;
    }
    if (!was || !is || was.seq === is.seq) return;
    const added = entries.findIndex((entry) => entry.seq >= was.seq);
    if (was.seq > is.seq && added > 0) it.scrollTop += added * row;
  }, [entries, row]);
}

/** Returns how many events arrived since the newest event was last visible. */
function useUnseen(entries: readonly Entry[], isAtEnd: boolean): number {
  const seen = useRef(0);
  if (isAtEnd) seen.current = entries.at(-1)?.seq ?? 0;
  let count = 0;
  for (let at = entries.length - 1; at >= 0 && (entries[at]?.seq ?? 0) > seen.current; at -= 1) count += 1;
  return count;
}

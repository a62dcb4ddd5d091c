/** Calculates which rows of a long list are rendered. */

/** Extra rows on each side, so that a quick scroll shows no gap. */
const BEYOND = 10;
/** The range moves in steps, not with each pixel. */
const STEP = 5;

export interface Range {
  from: number;
  /** Exclusive. */
  to: number;
}

/** Returns the visible rows and some more, when `above` pixels of the list are scrolled out of view. */
export function fromTo(above: number, height: number, rowHeight: number, count: number): Range {
  const first = Math.floor(above / rowHeight) - BEYOND;
  const last = Math.ceil((above + height) / rowHeight) + BEYOND;
  const from = Math.max(0, Math.min(count, Math.floor(first / STEP) * STEP));
  const to = Math.max(from, Math.min(count, Math.ceil(last / STEP) * STEP));
  return { from, to };
}

/** Returns the indexes of the rows to render, including the row `always`. */
export function within<T>(range: Range, items: readonly T[], always: string | null, keyOf: (item: T) => string): number[] {
  const to = Math.min(range.to, items.length);
  const indexes: number[] = [];
  for (let at = range.from; at < to; at += 1) indexes.push(at);
  if (always === null) return indexes;
  const extra = items.findIndex((item) => keyOf(item) === always);
  if (extra >= 0 && extra < range.from) indexes.unshift(extra);
  else if (extra >= to) indexes.push(extra);
  return indexes;
}

/** Returns by how many rows the row at `first`, or the next one that still exists, has moved. */
export function kept<T>(was: readonly T[], now: readonly T[], keyOf: (item: T) => string, first: number): number {
  for (let at = Math.max(0, first); at < Math.min(was.length, first + 50); at += 1) {
    const key = keyOf(was[at]!);
    const index = now.findIndex((item) => keyOf(item) === key);
    if (index >= 0) return index - at;
  }
  return 0;
}

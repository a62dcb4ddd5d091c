/** Which rows of a long list are in the document. */

/** So many beyond those in sight, so that a quick scroll has something to show. */
const BEYOND = 10;
/** The range moves by so many at once: not with each pixel. */
const STEP = 5;

export interface Range {
  from: number;
  /** The one after the last. */
  to: number;
}

/** The rows in sight and some more, if `above` pixels of the list are out of sight. */
export function fromTo(above: number, height: number, rowHeight: number, count: number): Range {
  const first = Math.floor(above / rowHeight) - BEYOND;
  const last = Math.ceil((above + height) / rowHeight) + BEYOND;
  const from = Math.max(0, Math.min(count, Math.floor(first / STEP) * STEP));
  const to = Math.max(from, Math.min(count, Math.ceil(last / STEP) * STEP));
  return { from, to };
}

/** Their places, with that of `always`, wherever it is. */
export function within<T>(range: Range, items: readonly T[], always: string | null, keyOf: (item: T) => string): number[] {
  const to = Math.min(range.to, items.length);
  const places: number[] = [];
  for (let at = range.from; at < to; at += 1) places.push(at);
  if (always === null) return places;
  const extra = items.findIndex((item) => keyOf(item) === always);
  if (extra >= 0 && extra < range.from) places.unshift(extra);
  else if (extra >= to) places.push(extra);
  return places;
}

/** By how many rows what was at `first` has moved; if it is gone, the next one that is still there. */
export function kept<T>(was: readonly T[], now: readonly T[], keyOf: (item: T) => string, first: number): number {
  for (let at = Math.max(0, first); at < Math.min(was.length, first + 50); at += 1) {
    const key = keyOf(was[at]!);
    const place = now.findIndex((item) => keyOf(item) === key);
    if (place >= 0) return place - at;
  }
  return 0;
}

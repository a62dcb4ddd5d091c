/**
 * Returns the SVG path of a line through values from 0 to `most`. The box has room for `slots` values, and the latest is always at the
 * right edge.
 */
export function line(values: readonly number[], most: number, slots: number, width: number, height: number): string {
  const shown = values.slice(-slots);
  const step = width / Math.max(1, slots - 1);
  const begin = width - step * (shown.length - 1);
  const room = height - 2;
  return shown
    .map((value, at) => {
      const part = most > 0 ? Math.min(1, Math.max(0, value / most)) : 0;
      return `${at === 0 ? "M" : "L"}${round(begin + at * step)} ${round(1 + room - part * room)}`;
    })
    .join("");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

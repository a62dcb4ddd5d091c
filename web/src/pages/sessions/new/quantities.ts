/** Parses sizes and durations in the notation of the command line. */

const SIZES: Record<string, number> = { "": 1, B: 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };
const TIMES: Record<string, number> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses `512M` or `2G` into bytes; null if invalid. */
export function size(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*([BKMGT]?)(?:i?B)?$/i.exec(text.trim());
  const unit = SIZES[found?.[2]?.toUpperCase() ?? "?"];
  return found && unit !== undefined ? Math.round(Number(found[1]) * unit) : null;
}

/** Parses `500ms`, `10s`, `2m` or `1h` into milliseconds; null if invalid. */
export function time(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)$/i.exec(text.trim());
  const unit = TIMES[found?.[2]?.toLowerCase() ?? "?"];
  return found && unit !== undefined ? Math.round(Number(found[1]) * unit) : null;
}

/** Parses a whole number of at most nine digits; null if invalid. */
export function count(text: string): number | null {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}

/** Parses `0.5` or `2` cores into thousandths; null if invalid. */
export function cores(text: string): number | null {
  const asked = /^\d+(\.\d+)?$/.test(text.trim()) ? Math.round(Number(text) * 1000) : 0;
  return asked > 0 ? asked : null;
}

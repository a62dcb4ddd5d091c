const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90s`, `10m`, `2h`, `1h 30m`; null for nothing at all; undefined if it is no time. */
export function readTime(text: string): number | null | undefined {
  const said = text.trim().toLowerCase();
  if (said === "") return null;
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|min|h|d)\s*)+$/.test(said)) return undefined;
  let sum = 0;
  for (const [, number, unit] of said.matchAll(/(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d)/g)) sum += Number(number) * (UNITS[unit ?? "s"] ?? 0);
  return Math.round(sum);
}

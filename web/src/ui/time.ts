const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses `90s`, `10m`, `2h` or `1h 30m` into milliseconds. Returns null for an empty text and undefined for an invalid one. */
export function readTime(text: string): number | null | undefined {
  const input = text.trim().toLowerCase();
  if (input === "") return null;
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|min|h|d)\s*)+$/.test(input)) return undefined;
  let sum = 0;
  for (const [, number, unit] of input.matchAll(/(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d)/g)) sum += Number(number) * (UNITS[unit ?? "s"] ?? 0);
  return Math.round(sum);
}

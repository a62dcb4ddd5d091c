/**
 * The environment of sessions that are started from this page. A browser has no environment to pass on, so a session gets the
 * daemon's variables (`PATH`, `HOME`, `LANG`, …) and the ones entered here. The page does not store them, because they may be secret.
 */
export type ParsedEnvironment = { env: Record<string, string> } | { wrong: string };

/** Parses NAME=value lines on top of `base`. Values are literal, quotes included. Empty lines and lines that start with # are ignored. */
export function environment(lines: string, base: Record<string, string>): ParsedEnvironment {
  const env = { ...base };
  for (const [at, line] of lines.split("\n").entries()) {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) continue;
    const equals = line.indexOf("=");
    if (equals < 0) return { wrong: `Line ${at + 1}: expected NAME=value.` };
    const name = line.slice(0, equals).trim().replace(/^export\s+/, "");
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return { wrong: `Line ${at + 1}: invalid variable name.` };
    env[name] = line.slice(equals + 1).replace(/\r$/, "");
  }
  return { env };
}

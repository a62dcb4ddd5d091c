/**
 * The environment of what is started from this page. A session gets exactly what it is told, and a browser has none to hand on:
 * so it is what the daemon knows (`PATH`, `HOME`, `LANG`, …), and what is written here. It is kept nowhere, as it may be secret.
 */
export type Typed = { env: Record<string, string> } | { wrong: string };

/** Lines of NAME=value, over what is there already. Values are taken literally, quotes included; empty lines and those with # in front count for nothing. */
export function environment(lines: string, base: Record<string, string>): Typed {
  const env = { ...base };
  for (const [at, line] of lines.split("\n").entries()) {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) continue;
    const equals = line.indexOf("=");
    if (equals < 0) return { wrong: `Line ${at + 1} has no =: it should be NAME=value.` };
    const name = line.slice(0, equals).trim().replace(/^export\s+/, "");
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return { wrong: `Line ${at + 1}: that is no name of a variable.` };
    env[name] = line.slice(equals + 1).replace(/\r$/, "");
  }
  return { env };
}

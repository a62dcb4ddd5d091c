/** The environment of a new session. It gets exactly this: a page in a browser has no environment to hand on. */
export type Variables = { env: Record<string, string> } | { wrong: string };

/** Where programs are looked for if nothing else is said: what the daemon itself would take. */
export const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Lines of NAME=value. Values are taken literally, quotes included; empty lines and those with # in front count for nothing. */
export function variables(lines: string): Variables {
  const env: Record<string, string> = {};
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

/** The home of whoever the daemon belongs to, as far as paths give it away. */
export function homeBy(paths: readonly string[]): string | null {
  for (const path of paths) {
    const found = /^(.*)\/\.local\/state\/kennel$/.exec(path) ?? /^(\/home\/[^/]+|\/Users\/[^/]+|\/root)(?:\/|$)/.exec(path);
    if (found?.[1]) return found[1];
  }
  return null;
}

/** What the lines begin with. */
export function firstLines(home: string | null): string {
  const path = home === null ? PATH : `${home}/.local/bin:${PATH}`;
  return `PATH=${path}\n${home === null ? "" : `HOME=${home}\n`}`;
}

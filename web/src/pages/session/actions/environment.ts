/** What an environment was typed as: `NAME=value` a line. */
export type Typed = { env: Record<string, string> } | { wrong: string };

/** What a command has if nobody says what: the programs of the system. */
const SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function environment(text: string): Typed {
  const env: Record<string, string> = { PATH: SYSTEM };
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const equals = line.indexOf("=");
    const name = line.slice(0, equals).trim();
    if (equals < 1 || name === "") return { wrong: `“${line.slice(0, 40)}” is not NAME=value` };
    env[name] = line.slice(equals + 1);
  }
  return { env };
}

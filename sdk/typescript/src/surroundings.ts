/** Where and as what a command runs. */
export interface Surroundings {
  /** The folder it starts in; this process's own if not said. */
  cwd?: string | undefined;
  /** Its environment, exactly; this process's own if not said. */
  env?: NodeJS.ProcessEnv | undefined;
}

/** What Kennel itself sets for the agent: ours would lead it astray. */
const OWN = new Set([
  "KENNEL_HOME_ID",
  "KENNEL_SESSION_ID",
  "KENNEL_SESSION_NAME",
  "KENNEL_HOME",
  "KENNEL_SESSION",
  "KENNEL_SOCKET",
  "KENNEL_TOKEN",
  "KENNEL_TOKEN_FILE",
]);

/** As the API takes them. */
export function surroundings({ cwd, env }: Surroundings): { cwd: string; env: Record<string, string>; umask: number } {
  const given = Object.entries(env ?? process.env);
  const said = given.filter((pair): pair is [string, string] => pair[1] !== undefined && !OWN.has(pair[0]));
  return { cwd: cwd ?? process.cwd(), env: Object.fromEntries(said), umask: process.umask() };
}

/** The session of this home that this process is in, if it is in one: what it starts has that for a parent. */
export function sessionAround(homeId: string): string | undefined {
  return process.env["KENNEL_HOME_ID"] === homeId ? process.env["KENNEL_SESSION_ID"] : undefined;
}

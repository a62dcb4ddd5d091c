/** The working directory and environment of a command. */
export interface ClientEnvironment {
  /** The working directory. Default: that of this process. */
  cwd?: string | undefined;
  /** The complete environment. Default: that of this process. */
  env?: NodeJS.ProcessEnv | undefined;
}

/** Variables that Kennel sets for each session. Those of this process’s own session must not be passed on. */
const KENNEL_VARIABLES = new Set([
  "KENNEL_HOME_ID",
  "KENNEL_SESSION_ID",
  "KENNEL_SESSION_NAME",
  "KENNEL_HOME",
  "KENNEL_SESSION",
  "KENNEL_SOCKET",
  "KENNEL_TOKEN",
  "KENNEL_TOKEN_FILE",
]);

/** Returns the fields of the API request. */
export function clientEnvironment({ cwd, env }: ClientEnvironment): { cwd: string; env: Record<string, string>; umask: number } {
  const given = Object.entries(env ?? process.env);
  const variables = given.filter((pair): pair is [string, string] => pair[1] !== undefined && !KENNEL_VARIABLES.has(pair[0]));
  return { cwd: cwd ?? process.cwd(), env: Object.fromEntries(variables), umask: process.umask() };
}

/** Returns the session of this home that this process runs in, if any. It becomes the parent of new sessions. */
export function parentSession(homeId: string): string | undefined {
  return process.env["KENNEL_HOME_ID"] === homeId ? process.env["KENNEL_SESSION_ID"] : undefined;
}

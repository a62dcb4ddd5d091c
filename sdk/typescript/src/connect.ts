import { execFile } from "node:child_process";
import { homedir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { KennelError } from "./errors.js";
import type { Target } from "./transport.js";

/** Where the daemon is, and how patiently it is asked. */
export interface ConnectOptions {
  /** Its home; `$KENNEL_HOME`, `$XDG_STATE_HOME/kennel` or `~/.local/state/kennel` if not said. */
  home?: string | undefined;
  /** Its address over TCP, in place of a home's socket. */
  url?: string | URL | undefined;
  /** The token for that. */
  token?: string | undefined;
  /** Who may vouch for that, if it is https. */
  ca?: string | Buffer | undefined;
  /** Start it if it does not run; only for a home. */
  start?: boolean | undefined;
  /** The program that starts it; `kennel` in the `PATH` if not said. */
  program?: string | undefined;
  /** How long a daemon that went is looked for: 30 s if not said. */
  reconnectMs?: number | undefined;
}

/** Where the home is, by the same rules as the command line's. */
export function homeOf({ home }: ConnectOptions): string {
  const { KENNEL_HOME, XDG_STATE_HOME } = process.env;
  if (home ?? KENNEL_HOME) return path.resolve((home ?? KENNEL_HOME) as string);
  if (XDG_STATE_HOME && path.isAbsolute(XDG_STATE_HOME)) return path.join(XDG_STATE_HOME, "kennel");
  return path.join(homedir(), ".local/state/kennel");
}

/** Who is to be asked. */
export function targetOf(options: ConnectOptions): Target {
  const { url, token, ca } = options;
  if (url === undefined) return { socket: path.join(homeOf(options), "kennel.sock") };
  return { url: new URL(url), token, ca };
}

/** Starts the daemon of a home, if it does not run. */
export async function startDaemon(options: ConnectOptions): Promise<void> {
  const { program = "kennel" } = options;
  try {
    await promisify(execFile)(program, ["--home", homeOf(options), "daemon", "start"]);
  } catch (error) {
    const told = (error as { stderr?: string }).stderr?.trim();
    throw new KennelError(`the daemon can't be started: ${told || (error as Error).message}`, { cause: error });
  }
}

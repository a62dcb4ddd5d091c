import { execFile } from "node:child_process";
import { homedir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { KennelError } from "./errors.js";
import type { Target } from "./transport.js";

/** How to find the daemon, and how long to reconnect. */
export interface ConnectOptions {
  /** Its home. Default: `$KENNEL_HOME`, `$XDG_STATE_HOME/kennel` or `~/.local/state/kennel`. */
  home?: string | undefined;
  /** Its TCP address, instead of the socket in a home. */
  url?: string | URL | undefined;
  /** The token for `url`. */
  token?: string | undefined;
  /** The CA certificate for an https `url`. */
  ca?: string | Buffer | undefined;
  /** Start the daemon if it is not running; only for a home. */
  start?: boolean | undefined;
  /** The program that starts the daemon. Default: `kennel` in `PATH`. */
  program?: string | undefined;
  /** How long to reconnect when the daemon goes away. Default: 30 s. */
  reconnectMs?: number | undefined;
}

/** Returns the home by the same rules as the command line. */
export function homeOf({ home }: ConnectOptions): string {
  const { KENNEL_HOME, XDG_STATE_HOME } = process.env;
  if (home ?? KENNEL_HOME) return path.resolve((home ?? KENNEL_HOME) as string);
  if (XDG_STATE_HOME && path.isAbsolute(XDG_STATE_HOME)) return path.join(XDG_STATE_HOME, "kennel");
  return path.join(homedir(), ".local/state/kennel");
}

/** Returns the address of the daemon. */
export function targetOf(options: ConnectOptions): Target {
  const { url, token, ca } = options;
  if (url === undefined) return { socket: path.join(homeOf(options), "kennel.sock") };
  return { url: new URL(url), token, ca };
}

/** Starts the daemon of a home, if it is not running. */
export async function startDaemon(options: ConnectOptions): Promise<void> {
  const { program = "kennel" } = options;
  try {
    await promisify(execFile)(program, ["--home", homeOf(options), "daemon", "start"]);
  } catch (error) {
    const stderr = (error as { stderr?: string }).stderr?.trim();
    throw new KennelError(`can't start the daemon: ${stderr || (error as Error).message}`, { cause: error });
  }
}

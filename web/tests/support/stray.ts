/** Stray processes: they have the marks of a home but are not in any pen. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect } from "@playwright/test";

import type { Kennel } from "./kennel.ts";

/** Starts a process with the marks of a session, as if it had escaped. */
export async function startStray(kennel: Kennel, session: string, argv = ["sleep", "600"]): Promise<ChildProcess> {
  const [homeId = ""] = (await readFile(join(kennel.home, "id"), "utf8")).split("\n");
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { env: { ...kennel.env, KENNEL_HOME_ID: homeId, KENNEL_SESSION_ID: session }, stdio: "ignore" });
  // Before exec, the process still has the environment of the test.
  await expect.poll(async () => (await readFile(`/proc/${child.pid}/environ`, "utf8")).includes(session)).toBe(true);
  return child;
}

/** Waits for the end; returns the signal. */
export function ended(child: ChildProcess): Promise<string | null> {
  return new Promise((resolve) => {
    if (child.signalCode !== null || child.exitCode !== null) resolve(child.signalCode);
    else child.once("exit", (_, signal) => resolve(signal));
  });
}

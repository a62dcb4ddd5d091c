/** Processes that bear the mark of a home, and belong to no session of it. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect } from "@playwright/test";

import type { Kennel } from "./kennel.ts";

/** Starts one that bears the mark of a session: as if it had escaped from it. */
export async function startStray(kennel: Kennel, session: string, argv = ["sleep", "600"]): Promise<ChildProcess> {
  const [homeId = ""] = (await readFile(join(kennel.home, "id"), "utf8")).split("\n");
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { env: { ...kennel.env, KENNEL_HOME_ID: homeId, KENNEL_SESSION_ID: session }, stdio: "ignore" });
  // Until the program itself runs, its environment is that of the test.
  await expect.poll(async () => (await readFile(`/proc/${child.pid}/environ`, "utf8")).includes(session)).toBe(true);
  return child;
}

/** By which signal it ended. */
export function ended(child: ChildProcess): Promise<string | null> {
  return new Promise((told) => {
    if (child.signalCode !== null || child.exitCode !== null) told(child.signalCode);
    else child.once("exit", (_, signal) => told(signal));
  });
}

/** A git repository for sessions to have worktrees of. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Kennel } from "./kennel.ts";

const run = promisify(execFile);
const WHO = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];

/** Makes one with a commit; its folder. */
export async function makeRepository(kennel: Kennel, name = "repo"): Promise<string> {
  const folder = join(kennel.folder, name);
  await run("git", ["init", "-q", "-b", "main", folder], { env: kennel.env });
  await run("git", ["-C", folder, ...WHO, "commit", "-q", "--allow-empty", "-m", "Begin"], { env: kennel.env });
  return folder;
}

/** Runs a session in a worktree of its own until it has ended. */
export async function runInWorktree(kennel: Kennel, repo: string, name: string, script: string): Promise<void> {
  const id = await startInWorktree(kennel, repo, name, ["sh", "-c", script]);
  await kennel.cli("wait", id);
}

/** Starts a session in a worktree of its own; its id. */
export async function startInWorktree(kennel: Kennel, repo: string, name: string, argv: string[]): Promise<string> {
  return kennel.cli("run", "-d", "--name", name, "--cwd", repo, "--worktree", "--", ...argv);
}

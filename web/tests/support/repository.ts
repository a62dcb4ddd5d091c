/** A git repository for worktree tests. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Kennel } from "./kennel.ts";

const run = promisify(execFile);
const AUTHOR = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];

/** Creates a repository with one commit; returns its folder. */
export async function makeRepository(kennel: Kennel, name = "repo"): Promise<string> {
  const folder = join(kennel.folder, name);
  await run("git", ["init", "-q", "-b", "main", folder], { env: kennel.env });
  await run("git", ["-C", folder, ...AUTHOR, "commit", "-q", "--allow-empty", "-m", "Begin"], { env: kennel.env });
  return folder;
}

/** Runs a session in its own worktree until it ends. */
export async function runInWorktree(kennel: Kennel, repo: string, name: string, script: string): Promise<void> {
  const id = await startInWorktree(kennel, repo, name, ["sh", "-c", script]);
  await kennel.cli("wait", id);
}

/** Starts a session in its own worktree; returns its id. */
export async function startInWorktree(kennel: Kennel, repo: string, name: string, argv: string[]): Promise<string> {
  return kennel.cli("run", "-d", "--name", name, "--cwd", repo, "--worktree", "--", ...argv);
}

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";

import { type ConnectOptions, Kennel } from "@kennel/client";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const programs = process.env["KENNEL_TEST_PROGRAMS"] ?? path.join(process.env["CARGO_TARGET_DIR"] ?? path.join(root, "target"), "debug");

/** The binary under test. */
export const kennelProgram = path.join(programs, "kennel");
/** An agent that misbehaves on request. */
export const agent = path.join(programs, "fake-agent");

/** A home with a daemon. Disposing it ends every process and checks that none is left. */
export class TestHome implements AsyncDisposable {
  private constructor(
    readonly folder: string,
    readonly work: string,
    readonly kennel: Kennel,
    readonly id: string,
  ) {}

  static async make(options: ConnectOptions = {}): Promise<TestHome> {
    const top = await realpath(await mkdtemp(path.join(tmpdir(), "kennel-sdk-")));
    const [home, work] = [path.join(top, "home"), path.join(top, "work")];
    await mkdir(work);
    await mkdir(path.join(top, "bin"));
    // With this name it behaves like Claude Code.
    await symlink(agent, path.join(top, "bin/claude"));
    const kennel = await Kennel.connect({ home, start: true, program: kennelProgram, ...options });
    const { home_id } = await kennel.daemon();
    return new TestHome(top, work, kennel, home_id);
  }

  get home(): string {
    return path.join(this.folder, "home");
  }

  /** The environment of agents. */
  get env(): Record<string, string> {
    const { PATH = "" } = process.env;
    return { PATH: `${path.join(this.folder, "bin")}:${PATH}`, HOME: this.folder, FAKE_CLAUDE: path.join(this.folder, "claude") };
  }

  /** Kills the daemon; a new one starts soon. */
  async killDaemon(): Promise<void> {
    const { pid } = await this.kennel.daemon();
    process.kill(pid, "SIGKILL");
  }

  /** Sets the script of the agent, one line per launch. */
  async script(...lines: string[]): Promise<void> {
    await mkdir(path.join(this.folder, "claude"), { recursive: true });
    await writeFile(path.join(this.folder, "claude/script"), lines.map((line) => `${line}\n`).join(""));
  }

  /** Returns the pids of this home’s processes, without the daemon. */
  async processes(): Promise<number[]> {
    const found: number[] = [];
    for (const name of await readdir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
      if (environment.includes(`KENNEL_HOME_ID=${this.id}`)) found.push(Number(name));
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      const { strays } = await this.kennel.strays();
      assert.deepEqual(strays, [], "there are strays");
    } finally {
      this.kennel.close();
      await promisify(execFile)(kennelProgram, ["--home", this.home, "daemon", "stop", "--grace", "0s"]);
      await eventually("all processes are gone", async () => (await this.processes()).length === 0);
      await rm(this.folder, { recursive: true });
    }
  }
}

/** Waits until a condition holds. */
export async function eventually(what: string, is: () => Promise<boolean> | boolean, limitMs = 10_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await is())) {
    assert.ok(Date.now() < deadline, `timed out: ${what}`);
    await sleep(10);
  }
}

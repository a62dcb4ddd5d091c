/** A real daemon with its own home, and the operations that tests need. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The binary under test. */
export const PROGRAM = resolve(process.env["KENNEL_BIN"] ?? join(import.meta.dirname, "../../../target/debug/kennel"));
/** A scripted agent. */
export const FAKE_AGENT = resolve(process.env["KENNEL_FAKE_AGENT"] ?? join(PROGRAM, "../fake-agent"));

/** Returns a random loopback address, so that a test never meets the daemon of another test on a reused port. */
function ownAddress(): string {
  const part = () => 1 + Math.floor(Math.random() * 254);
  return `127.${part()}.${part()}.${part()}:0`;
}

export class Kennel {
  readonly home: string;
  /** The working directory of sessions. */
  readonly folder: string;
  readonly env: Record<string, string>;
  #started: ChildProcess[] = [];

  private constructor(home: string, more: Record<string, string>) {
    this.home = join(home, "home");
    this.folder = home;
    const { PATH = "", KENNEL_WEB_DIR } = process.env;
    this.env = { PATH, HOME: home, KENNEL_HOME: this.home, LANG: "C.UTF-8", ...(KENNEL_WEB_DIR ? { KENNEL_WEB_DIR } : {}), ...more };
  }

  /** Starts a daemon with a new home. */
  static async start(more: Record<string, string> = {}): Promise<Kennel> {
    const kennel = new Kennel(await mkdtemp(join(tmpdir(), "kennel-web-")), more);
    await kennel.cli("daemon", "start", "--listen", ownAddress());
    return kennel;
  }

  /** Runs kennel, which must succeed; returns its trimmed output. */
  async cli(...args: string[]): Promise<string> {
    const { stdout } = await run(PROGRAM, args, { env: this.env, cwd: this.folder, maxBuffer: 1 << 28 });
    return stdout.trimEnd();
  }

  /** Starts kennel in the background; it is killed at the end of the test. */
  spawn(...args: string[]): ChildProcess {
    const child = spawn(PROGRAM, args, { env: this.env, cwd: this.folder, stdio: "ignore" });
    this.#started.push(child);
    return child;
  }

  /** Starts a detached session; returns its id. */
  async session(argv: string[], flags: string[] = []): Promise<string> {
    return this.cli("run", "-d", ...flags, "--", ...argv);
  }

  /** Returns a sign-in link. */
  async link(readOnly = false): Promise<string> {
    return this.cli("dashboard", "--no-open", ...(readOnly ? ["--read-only"] : []));
  }

  /** Sends an API request over the socket. */
  async api<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const text = await this.text(method, path, body);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** Sends an API request and returns the response body as text. */
  async text(method: string, path: string, body?: unknown): Promise<string> {
    return new Promise<string>((resolve, reject) => {
      const headers = body === undefined ? {} : { "Content-Type": "application/json" };
      const call = request({ socketPath: join(this.home, "kennel.sock"), method, path, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("end", () => {
          const answer = Buffer.concat(pieces).toString();
          if ((response.statusCode ?? 0) >= 300) reject(new Error(`${method} ${path}: ${response.statusCode} ${answer}`));
          else resolve(answer);
        });
      });
      call.on("error", reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Returns the events of a session. */
  async events(session: string): Promise<{ kind: string; time: string }[]> {
    const text = await this.text("GET", `/v1/events?session=${session}`);
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  async daemonPid(): Promise<number> {
    return (await this.api<{ pid: number }>("GET", "/v1/daemon")).pid;
  }

  /** Kills the daemon like a crash. A new one starts by itself if a session is live. */
  async killDaemon(): Promise<void> {
    process.kill(await this.daemonPid(), "SIGKILL");
  }

  /** Returns the pids of all processes of this home. */
  async processes(): Promise<string[]> {
    const { stdout } = await run("sh", ["-c", 'grep -lzaF "KENNEL_HOME=$1" /proc/[0-9]*/environ 2>/dev/null || true', "sh", this.home]);
    const pids = stdout.split("\n").map((line) => line.split("/")[2]).filter((pid): pid is string => !!pid);
    const alive = await Promise.all(
      pids.map(async (pid) => {
        const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
        return status !== "" && !/\) [ZX] /.test(status) ? pid : null;
      }),
    );
    return alive.filter((pid): pid is string => pid !== null);
  }

  /** Stops the daemon and its sessions, and checks that no process is left. */
  async end(): Promise<void> {
    for (const child of this.#started) child.kill("SIGKILL");
    await this.cli("daemon", "stop", "--grace", "0s").catch(async () => this.cli("daemon", "stop"));
    const deadline = Date.now() + 20_000;
    for (;;) {
      const left = await this.processes();
      if (left.length === 0) break;
      if (Date.now() > deadline) throw new Error(`${this.home} has leftover processes: ${left.join(" ")}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}

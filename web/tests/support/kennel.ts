/** A real daemon with a home of its own, and what tests ask of it. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What is under test: built before by whoever starts the tests. */
export const PROGRAM = resolve(process.env["KENNEL_BIN"] ?? join(import.meta.dirname, "../../../target/debug/kennel"));
/** An agent that does as it is told. */
export const FAKE_AGENT = resolve(process.env["KENNEL_FAKE_AGENT"] ?? join(PROGRAM, "../fake-agent"));

/** An address of the machine's own that nobody else has: a port that one daemon leaves may be given to another's. */
function ownAddress(): string {
  const part = () => 1 + Math.floor(Math.random() * 254);
  return `127.${part()}.${part()}.${part()}:0`;
}

export class Kennel {
  readonly home: string;
  /** A folder for sessions to work in. */
  readonly folder: string;
  readonly env: Record<string, string>;
  #started: ChildProcess[] = [];

  private constructor(home: string, more: Record<string, string>) {
    this.home = join(home, "home");
    this.folder = home;
    const { PATH = "", KENNEL_WEB_DIR } = process.env;
    this.env = { PATH, HOME: home, KENNEL_HOME: this.home, LANG: "C.UTF-8", ...(KENNEL_WEB_DIR ? { KENNEL_WEB_DIR } : {}), ...more };
  }

  /** A home in a folder that is new, with a daemon. */
  static async start(more: Record<string, string> = {}): Promise<Kennel> {
    const kennel = new Kennel(await mkdtemp(join(tmpdir(), "kennel-web-")), more);
    await kennel.cli("daemon", "start", "--listen", ownAddress());
    return kennel;
  }

  /** Runs kennel, which must succeed; what it printed, without the last line's end. */
  async cli(...args: string[]): Promise<string> {
    const { stdout } = await run(PROGRAM, args, { env: this.env, cwd: this.folder, maxBuffer: 1 << 28 });
    return stdout.trimEnd();
  }

  /** Starts kennel, and goes on; it is ended with the test. */
  spawn(...args: string[]): ChildProcess {
    const child = spawn(PROGRAM, args, { env: this.env, cwd: this.folder, stdio: "ignore" });
    this.#started.push(child);
    return child;
  }

  /** Starts a session that goes on; its id. */
  async session(argv: string[], flags: string[] = []): Promise<string> {
    return this.cli("run", "-d", ...flags, "--", ...argv);
  }

  /** Where a browser is let in, once. */
  async link(readOnly = false): Promise<string> {
    return this.cli("dashboard", "--no-open", ...(readOnly ? ["--read-only"] : []));
  }

  /** Asks the daemon at its socket. */
  async api<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const text = await this.text(method, path, body);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** The same, as it is. */
  async text(method: string, path: string, body?: unknown): Promise<string> {
    return new Promise<string>((told, failed) => {
      const headers = body === undefined ? {} : { "Content-Type": "application/json" };
      const asked = request({ socketPath: join(this.home, "kennel.sock"), method, path, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("end", () => {
          const answer = Buffer.concat(pieces).toString();
          if ((response.statusCode ?? 0) >= 300) failed(new Error(`${method} ${path}: ${response.statusCode} ${answer}`));
          else told(answer);
        });
      });
      asked.on("error", failed);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** What has happened to a session so far. */
  async events(session: string): Promise<{ kind: string; time: string }[]> {
    const text = await this.text("GET", `/v1/events?session=${session}`);
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  async daemonPid(): Promise<number> {
    return (await this.api<{ pid: number }>("GET", "/v1/daemon")).pid;
  }

  /** Kills the daemon, as a crash would; another takes over, by itself if something is live. */
  async killDaemon(): Promise<void> {
    process.kill(await this.daemonPid(), "SIGKILL");
  }

  /** Processes that bear the mark of this home. */
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

  /** Ends everything, and sees that nothing is left. */
  async end(): Promise<void> {
    for (const child of this.#started) child.kill("SIGKILL");
    await this.cli("daemon", "stop", "--grace", "0s").catch(async () => this.cli("daemon", "stop"));
    const deadline = Date.now() + 20_000;
    for (;;) {
      const left = await this.processes();
      if (left.length === 0) break;
      if (Date.now() > deadline) throw new Error(`processes are left of ${this.home}: ${left.join(" ")}`);
      await new Promise((soon) => setTimeout(soon, 20));
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}

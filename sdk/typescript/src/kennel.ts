import type { Answer, AnswerPart } from "./answer.js";
import { ask, type AskOptions, askStream, beginAsk } from "./ask.js";
import { type Camel, snake } from "./camel.js";
import { type ConnectOptions, startDaemon, targetOf } from "./connect.js";
import { create, type Until } from "./create.js";
import { type EventOptions, readEvents } from "./events.js";
import {
  type CreateRequest,
  type DaemonView,
  type EventView,
  type Operations,
  type PruneAnswer,
  ROUTES,
  type StraysEnded,
  type StraysView,
  type WorktreeView,
} from "./generated.js";
import { Members } from "./members.js";
import { Plans } from "./plans.js";
import { Session } from "./session.js";
import { sessionAround, type Surroundings, surroundings } from "./surroundings.js";
import { Transport } from "./transport.js";

/** How a command is run. What is left out is as on the command line; times are in milliseconds. */
export type RunOptions = Surroundings &
  Camel<Omit<CreateRequest, "argv" | "cwd" | "env" | "umask" | "limits" | "asked_by" | "tethered" | "agent" | "prompt">> & {
    /** How far it has come when `run` is done: `started` if not said. */
    until?: Until | undefined;
    /** Stops it wholly, whether it has started or is about to. */
    signal?: AbortSignal | undefined;
  };

/** Which sessions. */
export type ListOptions = Camel<Omit<Operations["listSessions"]["query"], "after" | "limit">> & {
  signal?: AbortSignal | undefined;
};

/** A daemon, and all that it looks after. */
export class Kennel implements AsyncDisposable {
  readonly #transport: Transport;
  readonly #around: string | undefined;
  readonly members: Members;
  readonly plans: Plans;

  private constructor(transport: Transport, daemon: DaemonView) {
    this.#transport = transport;
    this.#around = sessionAround(daemon.home_id);
    this.members = new Members(transport);
    this.plans = new Plans(transport);
  }

  /** Finds the daemon, and starts it if that is asked for. */
  static async connect(options: ConnectOptions = {}): Promise<Kennel> {
    if (options.start && options.url === undefined) await startDaemon(options);
    const target = targetOf(options);
    // One that is not there need not be waited for; one that goes later is.
    const first = new Transport(target, options.start ? 5000 : 0);
    const daemon = await first.call("getDaemon", {}).finally(() => first.close());
    return new Kennel(new Transport(target, options.reconnectMs ?? 30_000), daemon);
  }

  /**
   * Runs a command as a session. It has a key, made up if you give none: if a daemon is lost over the request, it is
   * asked for again, and is the same session. The signal ends it with everything that it has started, at any time; if
   * that is before it has started, `run` is rejected after nothing is left.
   */
  async run(argv: readonly string[], options: RunOptions = {}): Promise<Session> {
    const { cwd, env, until = "started", signal, ...rest } = options;
    const where = surroundings({ cwd, env });
    const request = { parent: this.#around, ...snake(rest), ...where, argv: [...argv] };
    const { view } = await create(this.#transport, request, until, signal);
    return new Session(this.#transport, view, signal);
  }

  /** The session with this id or name. */
  async session(reference: string): Promise<Session> {
    return new Session(this.#transport, await this.#transport.call("getSession", { path: { reference } }));
  }

  /** Sessions: those that live, and with `all` those that are over. */
  async *sessions(options: ListOptions = {}): AsyncGenerator<Session, void> {
    const { signal, ...which } = options;
    let after: string | undefined;
    do {
      const query = { ...snake(which), after };
      const page = await this.#transport.call("listSessions", { query, signal });
      for (const view of page.sessions) yield new Session(this.#transport, view);
      after = page.next ?? undefined;
    } while (after !== undefined);
  }

  /** Asks an agent, and waits for the answer. It ends if this process goes meanwhile. */
  async ask(options: AskOptions): Promise<Answer> {
    return ask(this.#transport, options, this.#around);
  }

  /** Asks an agent, and tells what it does; the verdict comes last. Whoever leaves off ends it. */
  askStream(options: AskOptions): AsyncGenerator<AnswerPart, void> {
    return askStream(this.#transport, options, this.#around);
  }

  /** Asks an agent, and does not wait: it goes on by itself, and `answer` of the session has what it answers. */
  async beginAsk(options: AskOptions): Promise<Session> {
    return beginAsk(this.#transport, options, this.#around);
  }

  /** What has happened, and happens: each event once, in order, over restarts of the daemon. */
  events(options: EventOptions = {}): AsyncGenerator<EventView, void> {
    return readEvents(this.#transport, options);
  }

  /** The daemon itself. */
  async daemon(): Promise<DaemonView> {
    return this.#transport.call("getDaemon", {});
  }

  /** Processes that bear this home's mark and belong to no live session. There should be none. */
  async strays(): Promise<StraysView> {
    return this.#transport.call("findStrays", {});
  }

  /** Ends them. */
  async endStrays(): Promise<StraysEnded> {
    return this.#transport.call("endStrays", { repeat: "safe" });
  }

  /** What this machine offers, by trying it, and what Kennel can't promise on it. */
  async doctor(): Promise<unknown> {
    return this.#transport.call("examine", {});
  }

  /** Figures about everything, as Prometheus reads them. */
  async metrics(): Promise<string> {
    return this.#transport.text({ method: "GET", path: ROUTES.getMetrics.path }, "safe");
  }

  /** Worktrees of sessions: those in use, and those that are kept. */
  async worktrees(): Promise<WorktreeView[]> {
    return (await this.#transport.call("listWorktrees", {})).worktrees;
  }

  /** Removes sessions from the record that are over. With `dryRun` it only says which. */
  async prune(options: { olderThanMs?: number; dryRun?: boolean } = {}): Promise<PruneAnswer> {
    const which = snake({ olderThanMs: options.olderThanMs });
    return options.dryRun
      ? this.#transport.call("previewPrune", { query: which })
      : this.#transport.call("prune", { body: which });
  }

  /** Whatever else the API has, by the name of its operation. */
  get api(): Pick<Transport, "call"> {
    return this.#transport;
  }

  /** Lets go of the connections. Sessions go on. */
  close(): void {
    this.#transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

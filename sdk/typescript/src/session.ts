import { constants } from "node:os";

import { type Answer, type AnswerPart, readAnswer, streamAnswer } from "./answer.js";
import { type Camel, snake } from "./camel.js";
import { asker, stopWholly } from "./create.js";
import type { Exit, InspectView, Phase, Reason, ResumeRequest, SessionUsage, SessionView, StopAnswer } from "./generated.js";
import { type OutputChunk, type OutputOptions, readOutput } from "./output.js";
import { type Surroundings, surroundings } from "./surroundings.js";
import { type AttachOptions, Terminal } from "./terminal.js";
import type { Transport } from "./transport.js";

/** How a session ended. */
export interface Outcome {
  /** The code that a shell would show; none if nobody knows how it ended. */
  exitCode: number | null;
  /** The agent's own word, or unknown. */
  exit: Exit | null;
  /** Why it ended. */
  reason: Reason | null;
  /** Everything else. */
  view: SessionView;
}

/** How to stop. */
export interface StopOptions {
  /** Between TERM and KILL; the session's own grace if not said. */
  graceMs?: number | undefined;
  /** KILL at once. */
  now?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** How to launch a session again. */
export type ResumeOptions = Pick<Surroundings, "env"> &
  Camel<Omit<ResumeRequest, "by" | "env" | "limits" | "umask" | "tethered">> & { signal?: AbortSignal | undefined };

/** One agent, with everything that it starts, over all its launches. */
export class Session implements AsyncDisposable {
  readonly #transport: Transport;
  #view: SessionView;
  #ending: Promise<unknown> | undefined;
  #unwatch: (() => void) | undefined;

  /** Not to be made by hand: `kennel.run` and `kennel.session` have them. */
  constructor(transport: Transport, view: SessionView, signal?: AbortSignal) {
    this.#transport = transport;
    this.#view = view;
    if (signal) this.#watch(signal);
  }

  /** Its id, which all its launches share. */
  get id(): string {
    return this.#view.session;
  }

  get name(): string | null {
    return this.#view.name;
  }

  /** The agent's pid, as it was last seen: for people to read. Nothing is to be done by it. */
  get pid(): number | null {
    return this.#view.pid;
  }

  get phase(): Phase {
    return this.#view.phase;
  }

  /** Everything, as it was last seen. */
  get view(): SessionView {
    return this.#view;
  }

  /** Looks again. */
  async refresh(signal?: AbortSignal): Promise<SessionView> {
    this.#view = await this.#transport.call("getSession", { path: this.#path, signal });
    return this.#view;
  }

  /** Everything about it: its process tree, what it uses, what happened to it. */
  async inspect(signal?: AbortSignal): Promise<InspectView> {
    return this.#transport.call("inspectSession", { path: this.#path, signal });
  }

  /** What its processes use, and have used. */
  async usage(signal?: AbortSignal): Promise<SessionUsage> {
    return this.#transport.call("getUsage", { path: this.#path, signal });
  }

  /** Waits until it is over and nothing of it is left. With `tied`, it ends if this process goes meanwhile. */
  async wait(options: { signal?: AbortSignal | undefined; tied?: boolean | undefined } = {}): Promise<Outcome> {
    const { signal, tied } = options;
    // A stop that failed is told to whoever waits.
    await this.#ending;
    this.#view = await this.#transport.call("waitForSession", { path: this.#path, query: { tied }, signal });
    await this.#ending;
    this.#unwatch?.();
    const { exit_code: exitCode, exit, reason } = this.#view;
    return { exitCode, exit, reason, view: this.#view };
  }

  /** Stops it wholly, and says what came of it. Any number of times, at any time. */
  async stop(options: StopOptions = {}): Promise<StopAnswer> {
    const { graceMs, now, signal } = options;
    const body = { by: asker(), ...(graceMs !== undefined && { grace_ms: graceMs }), ...(now && { now }) };
    const answer = await this.#transport.call("stopSession", { path: this.#path, body, signal, repeat: "safe" });
    this.#view = answer.session;
    if (answer.result !== "still_alive") this.#unwatch?.();
    return answer;
  }

  /** Stops it wholly; throws if something is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#view = await stopWholly(this.#transport, this.id);
    this.#unwatch?.();
  }

  /** Sends a signal to the agent. To end it, `stop` is better: that reaches all that it has started. */
  async signal(signal: NodeJS.Signals | number): Promise<void> {
    const number = typeof signal === "number" ? signal : constants.signals[signal];
    await this.#transport.call("signalSession", { path: this.#path, body: { signal: number } });
  }

  /** Writes to its standard input, or its terminal: it was started with `stdin: "pipe"`, or with a `terminal`. */
  async write(data: string | Uint8Array): Promise<void> {
    const hex = Buffer.from(data as Uint8Array).toString("hex");
    await this.#transport.call("sendInput", { path: this.#path, body: { hex } });
  }

  /** There is no more input. */
  async endInput(): Promise<void> {
    await this.#transport.call("sendInput", { path: this.#path, body: { eof: true } });
  }

  /** What its latest launch has printed, and with `follow` prints. */
  output(options?: OutputOptions): AsyncGenerator<OutputChunk, void> {
    return readOutput(this.#transport, this.id, options);
  }

  /** Sits down in front of it. */
  async terminal(options?: AttachOptions): Promise<Terminal> {
    return Terminal.attach(this.#transport, this.id, options);
  }

  /** What its agent answers, if it is a prompt; waited for. */
  async answer(signal?: AbortSignal): Promise<Answer> {
    return readAnswer(this.#transport, this.id, signal);
  }

  /** The same as it comes. */
  answerStream(signal?: AbortSignal): AsyncGenerator<AnswerPart, void> {
    return streamAnswer(this.#transport, this.id, signal);
  }

  /** Launches it again, once it has ended. However many ask at once, there is one launch. */
  async resume(options: ResumeOptions = {}): Promise<void> {
    const { env, signal, ...rest } = options;
    const { env: variables, umask } = surroundings({ env });
    const after = rest.after ?? this.#view.id;
    const body = { ...snake(rest), after, env: variables, umask, by: asker() };
    this.#view = await this.#transport.call("resumeSession", { path: this.#path, body, signal, repeat: "safe" });
  }

  /** Removes it from the record, once it is over. */
  async remove(): Promise<void> {
    await this.#transport.call("removeSession", { path: this.#path });
  }

  /** Gives it up: for one that is lost, of which nobody can see any more whether it runs. */
  async forget(): Promise<void> {
    this.#view = await this.#transport.call("forgetSession", { path: this.#path, body: { by: asker() } });
  }

  get #path(): { reference: string } {
    return { reference: this.id };
  }

  /** Stops when told to. */
  #watch(signal: AbortSignal): void {
    const stop = () => {
      this.#ending = stopWholly(this.#transport, this.id);
      // Whoever waits hears of it.
      this.#ending.catch(() => undefined);
    };
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    this.#unwatch = () => signal.removeEventListener("abort", stop);
  }
}

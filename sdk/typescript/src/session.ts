import { constants } from "node:os";

import { type Answer, type AnswerPart, readAnswer, streamAnswer } from "./answer.js";
import { type Camel, snake } from "./camel.js";
import { actor, stopOrThrow } from "./create.js";
import type { Exit, InspectView, Phase, Reason, ResumeRequest, SessionUsage, SessionView, StopResponse } from "./generated.js";
import { type OutputChunk, type OutputOptions, readOutput } from "./output.js";
import { type ClientEnvironment, clientEnvironment } from "./client-environment.js";
import { type AttachOptions, Terminal } from "./terminal.js";
import type { Transport } from "./transport.js";

/** The outcome of a session. */
export interface Outcome {
  /** The exit code as a shell shows it; null if unknown. */
  exitCode: number | null;
  /** The exit status of the agent. */
  exit: Exit | null;
  /** Why it ended. */
  reason: Reason | null;
  /** The final view. */
  view: SessionView;
}

/** Options of a stop. */
export interface StopOptions {
  /** The time between SIGTERM and SIGKILL. Default: the session’s setting. */
  graceMs?: number | undefined;
  /** Send SIGKILL immediately. */
  now?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of a resume. */
export type ResumeOptions = Pick<ClientEnvironment, "env"> &
  Camel<Omit<ResumeRequest, "by" | "env" | "limits" | "umask" | "tethered">> & { signal?: AbortSignal | undefined };

/** A session: an agent with every process it starts, over all its launches. */
export class Session implements AsyncDisposable {
  readonly #transport: Transport;
  #view: SessionView;
  #stopping: Promise<unknown> | undefined;
  #removeListener: (() => void) | undefined;

  /** Internal: use `kennel.run` and `kennel.session`. */
  constructor(transport: Transport, view: SessionView, signal?: AbortSignal) {
    this.#transport = transport;
    this.#view = view;
    if (signal) this.#watch(signal);
  }

  /** The id, which all launches share. */
  get id(): string {
    return this.#view.session;
  }

  get name(): string | null {
    return this.#view.name;
  }

  /** The last known pid of the agent, for display only. Use `stop` and `signal` to act on the session. */
  get pid(): number | null {
    return this.#view.pid;
  }

  get phase(): Phase {
    return this.#view.phase;
  }

  /** The last loaded view. */
  get view(): SessionView {
    return this.#view;
  }

  /** Loads the current view. */
  async refresh(signal?: AbortSignal): Promise<SessionView> {
    this.#view = await this.#transport.call("getSession", { path: this.#path, signal });
    return this.#view;
  }

  /** Returns all details: processes, usage and events. */
  async inspect(signal?: AbortSignal): Promise<InspectView> {
    return this.#transport.call("inspectSession", { path: this.#path, signal });
  }

  /** Returns the resource usage of its processes. */
  async usage(signal?: AbortSignal): Promise<SessionUsage> {
    return this.#transport.call("getUsage", { path: this.#path, signal });
  }

  /** Waits until the session has ended and no process is left. With `cancelOnDisconnect`, it is stopped if this process exits. */
  async wait(options: { signal?: AbortSignal | undefined; cancelOnDisconnect?: boolean | undefined } = {}): Promise<Outcome> {
    const { signal, cancelOnDisconnect } = options;
    // Report a failed stop to the caller.
    await this.#stopping;
    this.#view = await this.#transport.call("waitForSession", { path: this.#path, query: { cancel_on_disconnect: cancelOnDisconnect }, signal });
    await this.#stopping;
    this.#removeListener?.();
    const { exit_code: exitCode, exit, reason } = this.#view;
    return { exitCode, exit, reason, view: this.#view };
  }

  /** Stops the session with every process it started. Safe to call at any time and repeatedly. */
  async stop(options: StopOptions = {}): Promise<StopResponse> {
    const { graceMs, now, signal } = options;
    const body = { by: actor(), ...(graceMs !== undefined && { grace_ms: graceMs }), ...(now && { now }) };
    const answer = await this.#transport.call("stopSession", { path: this.#path, body, signal, repeat: "safe" });
    this.#view = answer.session;
    if (answer.result !== "still_alive") this.#removeListener?.();
    return answer;
  }

  /** Stops the session; throws if processes are left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#view = await stopOrThrow(this.#transport, this.id);
    this.#removeListener?.();
  }

  /** Sends a signal to every process in the pen. To end the session, use `stop`: it makes sure that no process is left. */
  async signal(signal: NodeJS.Signals | number): Promise<void> {
    const number = typeof signal === "number" ? signal : constants.signals[signal];
    await this.#transport.call("signalSession", { path: this.#path, body: { signal: number } });
  }

  /** Writes to its standard input or terminal. Requires `stdin: "pipe"` or a `terminal`. */
  async write(data: string | Uint8Array): Promise<void> {
    const hex = Buffer.from(data as Uint8Array).toString("hex");
    await this.#transport.call("sendInput", { path: this.#path, body: { hex } });
  }

  /** Closes its standard input. */
  async endInput(): Promise<void> {
    await this.#transport.call("sendInput", { path: this.#path, body: { eof: true } });
  }

  /** Reads the output of the latest launch; with `follow`, until it ends. */
  output(options?: OutputOptions): AsyncGenerator<OutputChunk, void> {
    return readOutput(this.#transport, this.id, options);
  }

  /** Attaches to its terminal. */
  async terminal(options?: AttachOptions): Promise<Terminal> {
    return Terminal.attach(this.#transport, this.id, options);
  }

  /** Waits for the answer, if the session is a prompt. */
  async answer(signal?: AbortSignal): Promise<Answer> {
    return readAnswer(this.#transport, this.id, signal);
  }

  /** Streams the steps of the agent, if the session is a prompt. */
  answerStream(signal?: AbortSignal): AsyncGenerator<AnswerPart, void> {
    return streamAnswer(this.#transport, this.id, signal);
  }

  /** Launches an ended session again. Concurrent calls cause only one launch. */
  async resume(options: ResumeOptions = {}): Promise<void> {
    const { env, signal, ...rest } = options;
    const { env: variables, umask } = clientEnvironment({ env });
    const after = rest.after ?? this.#view.id;
    const body = { ...snake(rest), after, env: variables, umask, by: actor() };
    this.#view = await this.#transport.call("resumeSession", { path: this.#path, body, signal, repeat: "safe" });
  }

  /** Removes the record of an ended session. */
  async remove(): Promise<void> {
    await this.#transport.call("removeSession", { path: this.#path });
  }

  /** Forgets a lost session, whose processes can no longer be observed. */
  async forget(): Promise<void> {
    this.#view = await this.#transport.call("forgetSession", { path: this.#path, body: { by: actor() } });
  }

  get #path(): { reference: string } {
    return { reference: this.id };
  }

  /** Stops the session when the signal aborts. */
  #watch(signal: AbortSignal): void {
    const stop = () => {
      this.#stopping = stopOrThrow(this.#transport, this.id);
      // `wait` reports a failure.
      this.#stopping.catch(() => undefined);
    };
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    this.#removeListener = () => signal.removeEventListener("abort", stop);
  }
}

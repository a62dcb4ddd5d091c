import { actor, unlessAborted } from "./create.js";
import type { PenKind, PlanSpec, PlanStatus, PlanView } from "./generated.js";
import { type ClientEnvironment, clientEnvironment } from "./client-environment.js";
import type { Transport } from "./transport.js";

/** Options of a plan run. */
export interface PlanOptions extends ClientEnvironment {
  /** The values of its inputs. */
  inputs?: Record<string, string> | undefined;
  /** The pen of its sessions. */
  pen?: PenKind | undefined;
  /** Whether to cancel the plan when no client waits for it with `cancelOnDisconnect`. */
  cancelOnDisconnect?: boolean | undefined;
  /** Cancels the plan. */
  signal?: AbortSignal | undefined;
}

/** A run of a plan: several agents that can be cancelled together. */
export class Plan implements AsyncDisposable {
  readonly #transport: Transport;
  #view: PlanView;

  /** Internal: use `kennel.plans`. */
  constructor(transport: Transport, view: PlanView) {
    this.#transport = transport;
    this.#view = view;
  }

  get id(): string {
    return this.#view.id;
  }

  get state(): PlanStatus {
    return this.#view.state;
  }

  /** The last loaded view. */
  get view(): PlanView {
    return this.#view;
  }

  /** Loads the current view. */
  async refresh(signal?: AbortSignal): Promise<PlanView> {
    return (this.#view = await this.#transport.call("getPlan", { path: this.#path, signal }));
  }

  /** Waits until the plan ends. With `cancelOnDisconnect`, it is cancelled if this process exits. */
  async wait(options: { signal?: AbortSignal | undefined; cancelOnDisconnect?: boolean | undefined } = {}): Promise<PlanView> {
    const { signal, cancelOnDisconnect } = options;
    return (this.#view = await this.#transport.call("waitForPlan", { path: this.#path, query: { cancel_on_disconnect: cancelOnDisconnect }, signal }));
  }

  /** Stops all agents and returns the final state. */
  async cancel(): Promise<PlanView> {
    const request = { path: this.#path, body: { by: actor() }, repeat: "safe" } as const;
    return (this.#view = await this.#transport.call("cancelPlan", request));
  }

  /** Runs the agents that are not done. With `replay`, also agents that may already have run. */
  async resume(options: ClientEnvironment & { replay?: boolean; cancelOnDisconnect?: boolean } = {}): Promise<PlanView> {
    const { replay = false, cancelOnDisconnect = false, ...context } = options;
    const { env, umask } = clientEnvironment(context);
    const body = { by: actor(), env, umask, replay, cancel_on_disconnect: cancelOnDisconnect };
    return (this.#view = await this.#transport.call("resumePlan", { path: this.#path, body }));
  }

  /** Cancels the plan. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.cancel();
  }

  get #path(): { reference: string } {
    return { reference: this.id };
  }
}

/** The plans of the daemon. */
export class Plans {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Runs a plan. An abort while it starts cancels it. */
  async run(spec: PlanSpec, options: PlanOptions = {}): Promise<Plan> {
    const { inputs = {}, pen = "auto", cancelOnDisconnect = false, signal, ...context } = options;
    signal?.throwIfAborted();
    const body = { spec, inputs, pen, cancel_on_disconnect: cancelOnDisconnect, by: actor(), ...clientEnvironment(context) };
    const running = this.#transport.call("runPlan", { body });
    const view = await unlessAborted(running, signal);
    if (view) return new Plan(this.#transport, view);
    const plan = await running.catch(() => undefined);
    if (plan) await new Plan(this.#transport, plan).cancel();
    throw signal?.reason;
  }

  async get(reference: string): Promise<Plan> {
    return new Plan(this.#transport, await this.#transport.call("getPlan", { path: { reference } }));
  }

  async list(): Promise<Plan[]> {
    const views = await this.#transport.call("listPlans", {});
    return views.map((view) => new Plan(this.#transport, view));
  }
}

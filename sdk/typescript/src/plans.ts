import { asker, unlessAborted } from "./create.js";
import type { PenKind, PlanSpec, PlanStatus, PlanView } from "./generated.js";
import { type Surroundings, surroundings } from "./surroundings.js";
import type { Transport } from "./transport.js";

/** How a plan is run. */
export interface PlanOptions extends Surroundings {
  /** A value for each of its inputs. */
  inputs?: Record<string, string> | undefined;
  /** Which pen its sessions get. */
  pen?: PenKind | undefined;
  /** Whether it is cancelled if whoever wants it goes: they wait for it, tied. */
  tied?: boolean | undefined;
  /** Cancels it. */
  signal?: AbortSignal | undefined;
}

/** One run of a plan: several agents with one cancel. */
export class Plan implements AsyncDisposable {
  readonly #transport: Transport;
  #view: PlanView;

  /** Not to be made by hand: `kennel.plans` has them. */
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

  /** Everything, as it was last seen. */
  get view(): PlanView {
    return this.#view;
  }

  /** Looks again. */
  async refresh(signal?: AbortSignal): Promise<PlanView> {
    return (this.#view = await this.#transport.call("getPlan", { path: this.#path, signal }));
  }

  /** Waits until it is over. With `tied`, it is cancelled if this process goes meanwhile. */
  async wait(options: { signal?: AbortSignal | undefined; tied?: boolean | undefined } = {}): Promise<PlanView> {
    const { signal, tied } = options;
    return (this.#view = await this.#transport.call("waitForPlan", { path: this.#path, query: { tied }, signal }));
  }

  /** Ends every agent of it, failed ones too, and says what became of each. */
  async cancel(): Promise<PlanView> {
    const asked = { path: this.#path, body: { by: asker() }, repeat: "safe" } as const;
    return (this.#view = await this.#transport.call("cancelPlan", asked));
  }

  /** Goes on with what is not done. With `replay`, that goes for what may have run, too. */
  async resume(options: Surroundings & { replay?: boolean; tied?: boolean } = {}): Promise<PlanView> {
    const { replay = false, tied = false, ...where } = options;
    const { env, umask } = surroundings(where);
    const body = { by: asker(), env, umask, replay, tied };
    return (this.#view = await this.#transport.call("resumePlan", { path: this.#path, body }));
  }

  /** Cancels it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.cancel();
  }

  get #path(): { reference: string } {
    return { reference: this.id };
  }
}

/** All plans. */
export class Plans {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Runs a plan. Aborted while it begins, it is cancelled. */
  async run(spec: PlanSpec, options: PlanOptions = {}): Promise<Plan> {
    const { inputs = {}, pen = "auto", tied = false, signal, ...where } = options;
    signal?.throwIfAborted();
    const body = { spec, inputs, pen, tied, by: asker(), ...surroundings(where) };
    const begun = this.#transport.call("runPlan", { body });
    const view = await unlessAborted(begun, signal);
    if (view) return new Plan(this.#transport, view);
    const plan = await begun.catch(() => undefined);
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

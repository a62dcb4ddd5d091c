import { asker } from "./create.js";
import type { MemberAnswer, Seat } from "./generated.js";
import type { Transport } from "./transport.js";

/** A new member. */
export interface NewMemberOptions {
  /** Who sits there: the agent, its model, what it may do. */
  seat: Seat;
  /** The folder that it works in; this process's own if not said. */
  cwd?: string | undefined;
}

/** All members: named seats, each with a conversation of its own. */
export class Members {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(): Promise<MemberAnswer[]> {
    return this.#transport.call("listMembers", {});
  }

  async get(name: string): Promise<MemberAnswer> {
    return this.#transport.call("getMember", { path: { name } });
  }

  async add(name: string, { seat, cwd = process.cwd() }: NewMemberOptions): Promise<MemberAnswer> {
    return this.#transport.call("addMember", { body: { name, seat, cwd } });
  }

  /** Removes one. With `force`, one that is busy is ended first. */
  async remove(name: string, { force = false }: { force?: boolean } = {}): Promise<void> {
    await this.#transport.call("removeMember", { path: { name }, query: { by: asker(), force } });
  }
}

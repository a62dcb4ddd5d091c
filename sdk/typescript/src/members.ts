import { actor } from "./create.js";
import type { MemberView, AgentSettings } from "./generated.js";
import type { Transport } from "./transport.js";

/** The settings of a new member. */
export interface NewMemberOptions {
  /** The agent, its model and its permissions. */
  settings: AgentSettings;
  /** The working directory. Default: that of this process. */
  cwd?: string | undefined;
}

/** The members: saved agents with a name, each with its own conversation. */
export class Members {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(): Promise<MemberView[]> {
    return this.#transport.call("listMembers", {});
  }

  async get(name: string): Promise<MemberView> {
    return this.#transport.call("getMember", { path: { name } });
  }

  async add(name: string, { settings, cwd = process.cwd() }: NewMemberOptions): Promise<MemberView> {
    return this.#transport.call("addMember", { body: { name, settings, cwd } });
  }

  /** Removes a member. With `force`, running prompts are stopped first. */
  async remove(name: string, { force = false }: { force?: boolean } = {}): Promise<void> {
    await this.#transport.call("removeMember", { path: { name }, query: { by: actor(), force } });
  }
}

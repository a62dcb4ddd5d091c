import { type Answer, type AnswerPart, readAnswer, streamAnswer } from "./answer.js";
import { type Camel, snake } from "./camel.js";
import { create, type Created, stopOrThrow } from "./create.js";
import type { AgentSpec, CreateRequest, AgentSettings, ConversationChoice } from "./generated.js";
import { Session } from "./session.js";
import { type ClientEnvironment, clientEnvironment } from "./client-environment.js";
import type { Transport } from "./transport.js";

/** The default number of retries after provider errors, as on the command line. */
const DEFAULT_RETRIES = 3;
/** The default time limit for retries, in milliseconds. */
const DEFAULT_RETRY_WITHIN_MS = 600_000;

/** A prompt to a member or an agent. */
export type AskOptions = ClientEnvironment &
  Camel<Partial<Omit<AgentSettings, "agent">>> &
  Camel<Pick<AgentSpec, "retries" | "replay" | "retry_within_ms">> &
  Camel<
    Pick<
      CreateRequest,
      | "name" | "key" | "queue" | "pen" | "parent" | "worktree" | "grace_ms" | "timeout_ms" | "idle_ms" | "silence_ms"
      | "memory" | "pids" | "cpu" | "best_effort"
    >
  > & {
    prompt: string;
    /** The member to ask. It has its own folder, model and conversation. */
    member?: string | undefined;
    /** The agent to ask, if no member is given: `claude`, `codex`, `gemini`, `opencode`. */
    agent?: string | undefined;
    /** A new conversation (`fresh`) or a given one. Default: the member’s conversation. */
    conversation?: "fresh" | { resume: string } | undefined;
    /** Stops the agent with every process it started. */
    signal?: AbortSignal | undefined;
  };

/** Builds the API request. With `cancelOnDisconnect`, the prompt ends when no client waits for it. */
function request(options: AskOptions, cancelOnDisconnect: boolean, parent: string | undefined): CreateRequest {
  const { prompt, member, agent, conversation, signal: _, cwd, env, ...others } = options;
  const { args, description, model, permissions, turns, retries, replay, retryWithinMs, ...rest } = others;
  const choice: ConversationChoice =
    conversation === undefined
      ? { conversation: "continue" }
      : conversation === "fresh"
        ? { conversation }
        : { conversation: "resume", id: conversation.resume };
  const settings = { agent: agent ?? "", args, description, model, permissions, turns };
  const retrying = { retries: retries ?? DEFAULT_RETRIES, retryWithinMs: retryWithinMs ?? DEFAULT_RETRY_WITHIN_MS, replay };
  const spec = { settings, member, conversation_choice: choice, cancel_on_disconnect: cancelOnDisconnect, ...snake(retrying) };
  const context = clientEnvironment({ cwd, env });
  return { parent, ...snake(rest), ...context, agent: spec, prompt };
}

/** Starts a prompt and does not wait for the answer. */
export async function beginAsk(
  transport: Transport,
  options: AskOptions,
  parent: string | undefined,
): Promise<Session> {
  const { view } = await create(transport, request(options, false, parent), "accepted", options.signal);
  return new Session(transport, view, options.signal);
}

/** Starts a prompt and waits for the answer. */
export async function ask(transport: Transport, options: AskOptions, parent: string | undefined): Promise<Answer> {
  const created = await create(transport, request(options, true, parent), "accepted", options.signal);
  const hold = new PromptHold(transport, created, options.signal);
  try {
    await hold.over;
    return await readAnswer(transport, created.view.session, options.signal);
  } finally {
    await hold.end();
  }
}

/** Starts a prompt and streams the steps of the agent. Leaving the iteration stops the prompt. */
export async function* askStream(
  transport: Transport,
  options: AskOptions,
  parent: string | undefined,
): AsyncGenerator<AnswerPart, void> {
  const created = await create(transport, request(options, true, parent), "accepted", options.signal);
  const hold = new PromptHold(transport, created, options.signal);
  try {
    yield* streamAnswer(transport, created.view.session, options.signal);
  } finally {
    await hold.end();
  }
}

/** Keeps a prompt alive while a caller waits for its answer. If this process exits, the prompt ends. */
class PromptHold {
  readonly #transport: Transport;
  readonly #reference: string;
  readonly #ours: boolean;
  /** Resolves when the prompt has ended. */
  readonly over: Promise<unknown>;
  readonly #release = new AbortController();
  #held = true;

  constructor(transport: Transport, { view, ours }: Created, signal: AbortSignal | undefined) {
    this.#transport = transport;
    this.#reference = view.session;
    this.#ours = ours;
    // A request that joined with the same key does not hold the prompt: it belongs to another request.
    const query = { cancel_on_disconnect: ours };
    const ends = AbortSignal.any([this.#release.signal, ...(signal ? [signal] : [])]);
    this.over = transport
      .call("waitForSession", { path: { reference: this.#reference }, query, signal: ends })
      .then(() => {
        this.#held = false;
      });
    this.over.catch(() => undefined);
  }

  /** Stops the prompt, unless it has ended. No process of it is left afterwards. */
  async end(): Promise<void> {
    try {
      if (this.#held && this.#ours) await stopOrThrow(this.#transport, this.#reference);
    } finally {
      this.#release.abort();
    }
  }
}

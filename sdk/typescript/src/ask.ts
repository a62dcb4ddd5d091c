import { type Answer, type AnswerPart, readAnswer, streamAnswer } from "./answer.js";
import { type Camel, snake } from "./camel.js";
import { create, type Created, stopWholly } from "./create.js";
import type { AgentSpec, CreateRequest, Seat, Wish } from "./generated.js";
import { Session } from "./session.js";
import { type Surroundings, surroundings } from "./surroundings.js";
import type { Transport } from "./transport.js";

/** How often a prompt is tried again if the provider is to blame, as on the command line. */
const RETRIES = 3;
/** How long that may take in all. */
const RETRY_WITHIN = 600_000;

/** A prompt, to a member or an agent. */
export type AskOptions = Surroundings &
  Camel<Partial<Omit<Seat, "agent">>> &
  Camel<Pick<AgentSpec, "retries" | "replay" | "retry_within_ms">> &
  Camel<
    Pick<
      CreateRequest,
      | "name" | "key" | "queue" | "pen" | "parent" | "worktree" | "grace_ms" | "timeout_ms" | "idle_ms" | "silence_ms"
      | "memory" | "pids" | "cpu" | "best_effort"
    >
  > & {
    prompt: string;
    /** Which member is asked; it has a folder, a model and a conversation of its own. */
    member?: string | undefined;
    /** Which agent is asked, if no member is: `claude`, `codex`, `gemini`, `opencode`. */
    agent?: string | undefined;
    /** A new conversation (`fresh`), or this one and no other. The member's own if not said. */
    conversation?: "fresh" | { resume: string } | undefined;
    /** Ends the agent with all its tools. */
    signal?: AbortSignal | undefined;
  };

/** As the API takes it. With `tied`, it ends if nobody waits for it. */
function request(options: AskOptions, tied: boolean, around: string | undefined): CreateRequest {
  const { prompt, member, agent, conversation, signal: _, cwd, env, ...others } = options;
  const { args, description, model, permissions, turns, retries, replay, retryWithinMs, ...rest } = others;
  const wish: Wish =
    conversation === undefined
      ? { conversation: "continue" }
      : conversation === "fresh"
        ? { conversation }
        : { conversation: "resume", id: conversation.resume };
  const seat = { agent: agent ?? "", args, description, model, permissions, turns };
  const patience = { retries: retries ?? RETRIES, retryWithinMs: retryWithinMs ?? RETRY_WITHIN, replay };
  const spec = { seat, member, wish, tied, ...snake(patience) };
  const where = surroundings({ cwd, env });
  return { parent: around, ...snake(rest), ...where, agent: spec, prompt };
}

/** Asks, and does not wait. */
export async function beginAsk(
  transport: Transport,
  options: AskOptions,
  around: string | undefined,
): Promise<Session> {
  const { view } = await create(transport, request(options, false, around), "accepted", options.signal);
  return new Session(transport, view, options.signal);
}

/** Asks, and waits for the answer. */
export async function ask(transport: Transport, options: AskOptions, around: string | undefined): Promise<Answer> {
  const asked = await create(transport, request(options, true, around), "accepted", options.signal);
  const tie = new Tie(transport, asked, options.signal);
  try {
    await tie.over;
    return await readAnswer(transport, asked.view.session, options.signal);
  } finally {
    await tie.end();
  }
}

/** Asks, and tells what the agent does. Whoever leaves off ends it. */
export async function* askStream(
  transport: Transport,
  options: AskOptions,
  around: string | undefined,
): AsyncGenerator<AnswerPart, void> {
  const asked = await create(transport, request(options, true, around), "accepted", options.signal);
  const tie = new Tie(transport, asked, options.signal);
  try {
    yield* streamAnswer(transport, asked.view.session, options.signal);
  } finally {
    await tie.end();
  }
}

/** What holds a prompt while somebody wants its answer: if this process goes, the prompt ends. */
class Tie {
  readonly #transport: Transport;
  readonly #reference: string;
  readonly #ours: boolean;
  /** Comes when the prompt is over. */
  readonly over: Promise<unknown>;
  readonly #letGo = new AbortController();
  #held = true;

  constructor(transport: Transport, { view, ours }: Created, signal: AbortSignal | undefined) {
    this.#transport = transport;
    this.#reference = view.session;
    this.#ours = ours;
    // Whoever joined with the same key is not tied: it is somebody else's.
    const query = { tied: ours };
    const ends = AbortSignal.any([this.#letGo.signal, ...(signal ? [signal] : [])]);
    this.over = transport
      .call("waitForSession", { path: { reference: this.#reference }, query, signal: ends })
      .then(() => {
        this.#held = false;
      });
    this.over.catch(() => undefined);
  }

  /** Nobody wants the answer any more, or it is there: nothing is left of the prompt after that. */
  async end(): Promise<void> {
    try {
      if (this.#held && this.#ours) await stopWholly(this.#transport, this.#reference);
    } finally {
      this.#letGo.abort();
    }
  }
}

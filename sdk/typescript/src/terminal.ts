import { KennelError } from "./errors.js";
import { Opcode } from "./frames.js";
import { isLoss, Lost, Patience } from "./patience.js";
import { pathOf, type Transport } from "./transport.js";
import { WebSocketConnection } from "./websocket.js";

/** The size of a window. */
export interface Size {
  columns: number;
  rows: number;
}

/** How to sit down in front of a session. */
export interface AttachOptions {
  /** The size of your window; the session's terminal takes it. */
  size?: Size | undefined;
  /** What comes first: what makes a screen look as the agent's, nothing, or everything that is kept. */
  replay?: "screen" | "none" | "all" | undefined;
  /** Output from this offset on comes first. */
  from?: number | undefined;
  /** So many of the last lines come first. */
  tail?: number | undefined;
  /** Only look on. */
  readOnly?: boolean | undefined;
  /** Leaves it. */
  signal?: AbortSignal | undefined;
}

/** What the daemon says in between. */
type Said =
  | { type: "attached"; terminal: boolean; read_only: boolean; replay: number; offset: number; launch: string }
  | { type: "gap"; offset: number; lost: number | null }
  | { type: "refused"; why: string }
  | { type: "ended"; outcome: unknown };

/** The longest piece of input in one message. */
const PIECE = 32 * 1024;

/**
 * A place in front of a session: what it prints comes as bytes, what you write goes to it. If the daemon is restarted,
 * it goes on where it was. It is over when the session has ended, or you close it.
 */
export class Terminal implements AsyncIterable<Buffer>, AsyncDisposable {
  readonly #transport: Transport;
  readonly #reference: string;
  readonly #options: AttachOptions;
  #connection: WebSocketConnection;
  #launch: string | undefined;
  #offset = 0;
  #replayed = 0;
  #size: Size | undefined;
  #left = false;
  readonly #refusals: string[] = [];
  readonly #onAbort = () => this.#connection.destroy();

  private constructor(transport: Transport, reference: string, options: AttachOptions, connection: WebSocketConnection) {
    this.#transport = transport;
    this.#reference = reference;
    this.#options = options;
    this.#connection = connection;
    this.#size = options.size;
    options.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Sits down. */
  static async attach(transport: Transport, reference: string, options: AttachOptions = {}): Promise<Terminal> {
    const patience = new Patience(transport.reconnectMs, options.signal);
    for (;;) {
      try {
        const connection = await connect(transport, reference, options);
        return new Terminal(transport, reference, options, connection);
      } catch (error) {
        if (!isLoss(error)) throw error;
        await patience.lost(error);
      }
    }
  }

  /** What was written or asked for and did not go on to the session, in words; the latest last. */
  get refusals(): readonly string[] {
    return this.#refusals;
  }

  /** Types something. Done when it is on its way; rejected if the connection is just lost. */
  async write(data: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(data as Uint8Array);
    for (let at = 0; at < bytes.length; at += PIECE) {
      await this.#connection.send(bytes.subarray(at, at + PIECE));
    }
  }

  /** Your window has another size. */
  async resize(size: Size): Promise<void> {
    this.#size = size;
    await this.#say({ type: "resize", cols: size.columns, rows: size.rows });
  }

  /** There is no more input: for a session without a terminal. */
  async end(): Promise<void> {
    await this.#say({ type: "eof" });
  }

  /** Leaves. The session goes on. */
  async close(): Promise<void> {
    this.#left = true;
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    const patience = new Patience(this.#transport.reconnectMs, this.#options.signal);
    try {
      for (;;) {
        const message = await this.#connection.next();
        if (!message) {
          if (this.#left) return;
          this.#options.signal?.throwIfAborted();
          await this.#comeBack(patience);
        } else if (message.opcode === Opcode.Binary) {
          patience.heard();
          this.#count(message.payload.length);
          yield message.payload;
        } else if (this.#hear(JSON.parse(message.payload.toString()) as Said) === "ended") {
          return;
        }
      }
    } finally {
      await this.close();
    }
  }

  #hear(said: Said): "ended" | undefined {
    switch (said.type) {
      case "attached":
        this.#launch = said.launch;
        this.#offset = said.offset;
        this.#replayed = said.replay;
        return undefined;
      case "gap":
        this.#offset = said.offset + (said.lost ?? 0);
        return undefined;
      case "refused":
        this.#refusals.push(said.why);
        return undefined;
      case "ended":
        return "ended";
      default:
        // A newer daemon may say more.
        return undefined;
    }
  }

  /** Bytes that draw the screen come first, and are none of the output's. */
  #count(bytes: number): void {
    const drawn = Math.min(bytes, this.#replayed);
    this.#replayed -= drawn;
    this.#offset += bytes - drawn;
  }

  /** The connection was lost: goes on where it was. */
  async #comeBack(patience: Patience): Promise<void> {
    const { code, reason } = this.#connection.closed ?? { code: 1006, reason: "" };
    // 1001: the daemon leaves; 1006: it was cut.
    if (code !== 1001 && code !== 1006) throw new KennelError(`the connection was closed: ${code} ${reason}`);
    const { replay, tail, ...rest } = this.#options;
    const size = this.#size && { size: this.#size };
    const how = this.#launch === undefined ? this.#options : { ...rest, ...size, from: this.#offset };
    let lost: unknown = new Lost("maybe", reason);
    for (;;) {
      await patience.lost(lost);
      try {
        this.#connection = await connect(this.#transport, this.#launch ?? this.#reference, how);
        return;
      } catch (error) {
        if (!isLoss(error)) throw error;
        lost = error;
      }
    }
  }

  async #say(what: object): Promise<void> {
    await this.#connection.send(JSON.stringify(what));
  }
}

function connect(transport: Transport, reference: string, options: AttachOptions): Promise<WebSocketConnection> {
  const { size, replay, from, tail, readOnly, signal } = options;
  const query = { replay, from, tail, read_only: readOnly, cols: size?.columns, rows: size?.rows };
  return WebSocketConnection.open(transport, { path: pathOf("attach", { reference }), query, signal });
}

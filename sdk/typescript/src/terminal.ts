import { KennelError } from "./errors.js";
import { Opcode } from "./frames.js";
import { ConnectionLost, isLoss, ReconnectTimer } from "./reconnect.js";
import { pathOf, type Transport } from "./transport.js";
import { WebSocketConnection } from "./websocket.js";

/** The size of a terminal. */
export interface Size {
  columns: number;
  rows: number;
}

/** Options of attaching to a terminal. */
export interface AttachOptions {
  /** The size of your window; the session’s terminal is resized to it. */
  size?: Size | undefined;
  /** What to send first: the current screen, nothing, or all recorded output. */
  replay?: "screen" | "none" | "all" | undefined;
  /** Send recorded output from this offset first. */
  from?: number | undefined;
  /** Send this many of the last lines first. */
  tail?: number | undefined;
  /** View only: send no input. */
  readOnly?: boolean | undefined;
  /** Detaches. */
  signal?: AbortSignal | undefined;
}

/** Control messages of the daemon. */
type ControlMessage =
  | { type: "attached"; terminal: boolean; read_only: boolean; replay: number; offset: number; launch: string }
  | { type: "gap"; offset: number; lost: number | null }
  | { type: "refused"; why: string }
  | { type: "ended"; outcome: unknown };

/** The longest input in one message, in bytes. */
const PIECE = 32 * 1024;

/**
 * A connection to a session's terminal. Iterating yields its output as bytes; `write` sends input. It continues at its position
 * across daemon restarts, and ends when the session ends or when you close it.
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
  #isClosed = false;
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

  /** Attaches to the terminal of a session. */
  static async attach(transport: Transport, reference: string, options: AttachOptions = {}): Promise<Terminal> {
    const timer = new ReconnectTimer(transport.reconnectMs, options.signal);
    for (;;) {
      try {
        const connection = await connect(transport, reference, options);
        return new Terminal(transport, reference, options, connection);
      } catch (error) {
        if (!isLoss(error)) throw error;
        await timer.wait(error);
      }
    }
  }

  /** Why the session did not receive some input, latest reason last. */
  get refusals(): readonly string[] {
    return this.#refusals;
  }

  /** Sends input. Resolves when it is sent; rejects if the connection is lost. */
  async write(data: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(data as Uint8Array);
    for (let at = 0; at < bytes.length; at += PIECE) {
      await this.#connection.send(bytes.subarray(at, at + PIECE));
    }
  }

  /** Changes the size of the terminal. */
  async resize(size: Size): Promise<void> {
    this.#size = size;
    await this.#sendControl({ type: "resize", cols: size.columns, rows: size.rows });
  }

  /** Closes the standard input of a session without a terminal. */
  async end(): Promise<void> {
    await this.#sendControl({ type: "eof" });
  }

  /** Detaches. The session keeps running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    const timer = new ReconnectTimer(this.#transport.reconnectMs, this.#options.signal);
    try {
      for (;;) {
        const message = await this.#connection.next();
        if (!message) {
          if (this.#isClosed) return;
          this.#options.signal?.throwIfAborted();
          await this.#reconnect(timer);
        } else if (message.opcode === Opcode.Binary) {
          timer.reset();
          this.#count(message.payload.length);
          yield message.payload;
        } else if (this.#handleControl(JSON.parse(message.payload.toString()) as ControlMessage) === "ended") {
          return;
        }
      }
    } finally {
      await this.close();
    }
  }

  #handleControl(message: ControlMessage): "ended" | undefined {
    switch (message.type) {
      case "attached":
        this.#launch = message.launch;
        this.#offset = message.offset;
        this.#replayed = message.replay;
        return undefined;
      case "gap":
        this.#offset = message.offset + (message.lost ?? 0);
        return undefined;
      case "refused":
        this.#refusals.push(message.why);
        return undefined;
      case "ended":
        return "ended";
      default:
        // A newer daemon may send other messages.
        return undefined;
    }
  }

  /** Counts output bytes. The first bytes only redraw the screen and do not count. */
  #count(bytes: number): void {
    const drawn = Math.min(bytes, this.#replayed);
    this.#replayed -= drawn;
    this.#offset += bytes - drawn;
  }

  /** Reconnects at the current position. */
  async #reconnect(timer: ReconnectTimer): Promise<void> {
    const { code, reason } = this.#connection.closed ?? { code: 1006, reason: "" };
    // 1001: the daemon is shutting down; 1006: the connection was cut.
    if (code !== 1001 && code !== 1006) throw new KennelError(`the connection was closed: ${code} ${reason}`);
    const { replay, tail, ...rest } = this.#options;
    const size = this.#size && { size: this.#size };
    const how = this.#launch === undefined ? this.#options : { ...rest, ...size, from: this.#offset };
    let lost: unknown = new ConnectionLost("maybe", reason);
    for (;;) {
      await timer.wait(lost);
      try {
        this.#connection = await connect(this.#transport, this.#launch ?? this.#reference, how);
        return;
      } catch (error) {
        if (!isLoss(error)) throw error;
        lost = error;
      }
    }
  }

  async #sendControl(message: object): Promise<void> {
    await this.#connection.send(JSON.stringify(message));
  }
}

function connect(transport: Transport, reference: string, options: AttachOptions): Promise<WebSocketConnection> {
  const { size, replay, from, tail, readOnly, signal } = options;
  const query = { replay, from, tail, read_only: readOnly, cols: size?.columns, rows: size?.rows };
  return WebSocketConnection.open(transport, { path: pathOf("attach", { reference }), query, signal });
}

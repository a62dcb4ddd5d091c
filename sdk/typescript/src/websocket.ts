import { createHash, randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";

import { KennelError } from "./errors.js";
import { encode, type Message, MessageParser, Opcode } from "./frames.js";
import { ConnectionLost } from "./reconnect.js";
import type { ApiRequest, Transport } from "./transport.js";

/** The key suffix of RFC 6455. */
const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** How many unread bytes are buffered before the connection is paused. */
const MAX_BUFFERED = 1024 * 1024;
/** How long to wait for the close frame of the server, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2000;

/** How a connection ended. */
export interface Closed {
  /** The close code of RFC 6455; 1006 if the connection was cut. */
  code: number;
  reason: string;
}

/** A WebSocket over the connection of the transport. Node’s own WebSocket can’t use Unix sockets. */
export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #parser = new MessageParser();
  readonly #waiting: Message[] = [];
  #size = 0;
  #wakers: (() => void)[] = [];
  #closed: Closed | undefined;
  #isClosing = false;

  private constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("error", () => this.#end({ code: 1006, reason: "the connection was lost" }));
    socket.on("close", () => this.#end({ code: 1006, reason: "the connection was lost" }));
    if (head.length > 0) this.#take(head);
  }

  static async open(transport: Transport, request: Omit<ApiRequest, "method">): Promise<WebSocketConnection> {
    const key = randomBytes(16).toString("base64");
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-key": key,
      "sec-websocket-version": "13",
    };
    const { response, socket, head } = await transport.upgrade({ ...request, method: "GET", headers });
    const accepted = createHash("sha1").update(key + MAGIC).digest("base64");
    if (response.headers["sec-websocket-accept"] !== accepted) {
      socket.destroy();
      throw new KennelError("the server does not support WebSocket");
    }
    return new WebSocketConnection(socket, head);
  }

  /** How the connection ended; undefined while it is open. */
  get closed(): Closed | undefined {
    return this.#closed;
  }

  /** Returns the next message; undefined at the end. */
  async next(): Promise<Message | undefined> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message) {
        this.#size -= message.payload.length;
        if (this.#size < MAX_BUFFERED) this.#socket.resume();
        return message;
      }
      if (this.#closed) return undefined;
      await this.#nextChange();
    }
  }

  /** Sends a message; resolves when it is written. */
  async send(data: string | Uint8Array): Promise<void> {
    const opcode = typeof data === "string" ? Opcode.Text : Opcode.Binary;
    if (this.#closed || this.#isClosing) throw new ConnectionLost("unsent", "the connection is closed");
    const frame = encode(opcode, typeof data === "string" ? Buffer.from(data) : data);
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(frame, (error) => (error ? reject(new ConnectionLost("maybe", error)) : resolve()));
    });
  }

  /** Closes the connection and waits for its end. */
  async close(code = 1000): Promise<void> {
    if (this.#closed) return;
    this.#sendClose(code);
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    while (!this.#closed) {
      // Discard pending messages: the close frame comes after them.
      this.#waiting.length = 0;
      this.#size = 0;
      this.#socket.resume();
      await this.#nextChange();
    }
    clearTimeout(timer);
  }

  /** Closes the connection immediately. */
  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    try {
      for (const message of this.#parser.push(bytes)) this.#handle(message);
    } catch {
      this.#sendClose(1002);
      this.#end({ code: 1002, reason: "the server sent an invalid frame" });
      return;
    }
    if (this.#size >= MAX_BUFFERED) this.#socket.pause();
    this.#wake();
  }

  #handle(message: Message): void {
    switch (message.opcode) {
      case Opcode.Ping:
        if (this.#socket.writable) this.#socket.write(encode(Opcode.Pong, message.payload));
        return;
      case Opcode.Pong:
        return;
      case Opcode.Close: {
        const code = message.payload.length >= 2 ? message.payload.readUInt16BE(0) : 1005;
        this.#sendClose(code === 1005 ? 1000 : code);
        this.#end({ code, reason: message.payload.subarray(2).toString() });
        return;
      }
      default:
        this.#waiting.push(message);
        this.#size += message.payload.length;
    }
  }

  #sendClose(code: number): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    if (this.#socket.writable) this.#socket.write(encode(Opcode.Close, payload));
  }

  #end(how: Closed): void {
    this.#closed ??= how;
    this.#socket.end();
    this.#socket.resume();
    this.#wake();
  }

  #nextChange(): Promise<void> {
    return new Promise((wake) => this.#wakers.push(wake));
  }

  #wake(): void {
    for (const wake of this.#wakers.splice(0)) wake();
  }
}

import { createHash, randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";

import { KennelError } from "./errors.js";
import { encode, type Message, MessageParser, Opcode } from "./frames.js";
import { Lost } from "./patience.js";
import type { Asked, Transport } from "./transport.js";

/** By RFC 6455. */
const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** So much may wait for whoever reads, before nothing more is taken from the connection. */
const AHEAD = 1024 * 1024;
/** How long the other side may take to say goodbye. */
const GOODBYE = 2000;

/** How a connection ended. */
export interface Closed {
  /** By RFC 6455; 1006 if it was cut. */
  code: number;
  reason: string;
}

/** A WebSocket, over whatever the transport has: Node's own can't use Unix sockets. */
export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #parser = new MessageParser();
  readonly #waiting: Message[] = [];
  #size = 0;
  #wakers: (() => void)[] = [];
  #closed: Closed | undefined;
  #saidGoodbye = false;

  private constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("error", () => this.#end({ code: 1006, reason: "the connection was lost" }));
    socket.on("close", () => this.#end({ code: 1006, reason: "the connection was lost" }));
    if (head.length > 0) this.#take(head);
  }

  static async open(transport: Transport, asked: Omit<Asked, "method">): Promise<WebSocketConnection> {
    const key = randomBytes(16).toString("base64");
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-key": key,
      "sec-websocket-version": "13",
    };
    const { response, socket, head } = await transport.upgrade({ ...asked, method: "GET", headers });
    const accepted = createHash("sha1").update(key + MAGIC).digest("base64");
    if (response.headers["sec-websocket-accept"] !== accepted) {
      socket.destroy();
      throw new KennelError("whoever answers does not speak WebSocket");
    }
    return new WebSocketConnection(socket, head);
  }

  /** How it ended, once it has. */
  get closed(): Closed | undefined {
    return this.#closed;
  }

  /** The next message; none when there are no more. */
  async next(): Promise<Message | undefined> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message) {
        this.#size -= message.payload.length;
        if (this.#size < AHEAD) this.#socket.resume();
        return message;
      }
      if (this.#closed) return undefined;
      await this.#news();
    }
  }

  /** Sends something; done when the connection takes more. */
  async send(data: string | Uint8Array): Promise<void> {
    const opcode = typeof data === "string" ? Opcode.Text : Opcode.Binary;
    if (this.#closed || this.#saidGoodbye) throw new Lost("unsent", "the connection is closed");
    const frame = encode(opcode, typeof data === "string" ? Buffer.from(data) : data);
    await new Promise<void>((sent, failed) => {
      this.#socket.write(frame, (error) => (error ? failed(new Lost("maybe", error)) : sent()));
    });
  }

  /** Says goodbye, and sees the connection end. */
  async close(code = 1000): Promise<void> {
    if (this.#closed) return;
    this.#sayGoodbye(code);
    const timer = setTimeout(() => this.#socket.destroy(), GOODBYE);
    while (!this.#closed) {
      // Nobody wants it any more, and the goodbye is behind it.
      this.#waiting.length = 0;
      this.#size = 0;
      this.#socket.resume();
      await this.#news();
    }
    clearTimeout(timer);
  }

  /** Lets go at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    try {
      for (const message of this.#parser.push(bytes)) this.#handle(message);
    } catch {
      this.#sayGoodbye(1002);
      this.#end({ code: 1002, reason: "the other side sends what is no WebSocket" });
      return;
    }
    if (this.#size >= AHEAD) this.#socket.pause();
    this.#rouse();
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
        this.#sayGoodbye(code === 1005 ? 1000 : code);
        this.#end({ code, reason: message.payload.subarray(2).toString() });
        return;
      }
      default:
        this.#waiting.push(message);
        this.#size += message.payload.length;
    }
  }

  #sayGoodbye(code: number): void {
    if (this.#saidGoodbye) return;
    this.#saidGoodbye = true;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    if (this.#socket.writable) this.#socket.write(encode(Opcode.Close, payload));
  }

  #end(how: Closed): void {
    this.#closed ??= how;
    this.#socket.end();
    this.#socket.resume();
    this.#rouse();
  }

  #news(): Promise<void> {
    return new Promise((wake) => this.#wakers.push(wake));
  }

  #rouse(): void {
    for (const wake of this.#wakers.splice(0)) wake();
  }
}

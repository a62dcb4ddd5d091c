import type { IncomingMessage } from "node:http";

import { isLoss, Lost, Patience } from "./patience.js";
import type { Asked, Transport } from "./transport.js";

/** One server-sent event. */
export interface ServerEvent {
  /** Its name; `message` if it has none. */
  event: string;
  data: string;
  /** What to give back to go on after it. */
  id: string | undefined;
}

/** A stream says now and then that it lives. One that says nothing for so long does not. */
const SILENCE = 45_000;

/** Reads events from bytes: a piece at a time, in whatever way it is cut. */
export class EventParser {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #event = "";
  #data: string[] = [];
  #id: string | undefined;

  *push(bytes: Uint8Array): Generator<ServerEvent> {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    let from = 0;
    for (;;) {
      const end = lineEnd(this.#rest, from);
      if (end === undefined) break;
      const event = this.#line(this.#rest.slice(from, end.at));
      from = end.next;
      if (event) yield event;
    }
    this.#rest = this.#rest.slice(from);
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") return this.#take();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return undefined;
  }

  #take(): ServerEvent | undefined {
    const [event, data] = [this.#event || "message", this.#data];
    this.#event = "";
    this.#data = [];
    return data.length > 0 ? { event, data: data.join("\n"), id: this.#id } : undefined;
  }
}

/** The next end of a line. A `\r` at the very end is left until it is known what follows. */
function lineEnd(text: string, from: number): { at: number; next: number } | undefined {
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === "\n") return { at, next: at + 1 };
    if (char !== "\r") continue;
    if (at + 1 === text.length) return undefined;
    return { at, next: text[at + 1] === "\n" ? at + 2 : at + 1 };
  }
  return undefined;
}

/** How a stream is followed. */
export interface Following {
  /** Whether this event is the last one. */
  isLast: (event: ServerEvent) => boolean;
  /** Whether there is always a last one: an end without it is the daemon's, not the stream's. */
  endless: boolean;
  /** What was seen last of an earlier stream. */
  lastId?: string | undefined;
}

/**
 * Follows a stream up to its last event. If the daemon goes, the next one is asked for what follows, without loss and
 * without a repetition. Nothing is read ahead of whoever takes the events.
 */
export async function* follow(transport: Transport, asked: Asked, how: Following): AsyncGenerator<ServerEvent, void> {
  let { lastId } = how;
  const patience = new Patience(transport.reconnectMs, asked.signal);
  for (;;) {
    let lost: unknown = new Lost("maybe", "the stream has ended");
    try {
      const headers = { accept: "text/event-stream", ...(lastId !== undefined && { "last-event-id": lastId }) };
      const response = await transport.open({ ...asked, headers: { ...asked.headers, ...headers } });
      if (response.statusCode === 204) {
        response.resume();
        return;
      }
      const parser = new EventParser();
      for await (const bytes of pieces(response)) {
        for (const event of parser.push(bytes)) {
          patience.heard();
          lastId = event.id ?? lastId;
          yield event;
          if (how.isLast(event)) return;
        }
      }
      if (!how.endless) return;
    } catch (error) {
      asked.signal?.throwIfAborted();
      if (!isLoss(error)) throw error;
      lost = error;
    }
    await patience.lost(lost);
  }
}

/** What comes, up to the end or the loss of the connection. */
async function* pieces(response: IncomingMessage): AsyncGenerator<Buffer, void> {
  response.setTimeout(SILENCE, () => response.destroy(new Error("the stream has fallen silent")));
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    throw new Lost("maybe", error);
  } finally {
    response.destroy();
  }
}

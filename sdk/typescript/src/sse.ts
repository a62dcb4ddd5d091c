import type { IncomingMessage } from "node:http";

import { ConnectionLost, isLoss, ReconnectTimer } from "./reconnect.js";
import type { ApiRequest, Transport } from "./transport.js";

/** One server-sent event. */
export interface ServerEvent {
  /** Its name; `message` if it has none. */
  event: string;
  data: string;
  /** The id to resume after this event. */
  id: string | undefined;
}

/** The daemon sends heartbeats. A stream that is silent for longer is lost. */
const SILENCE_MS = 45_000;

/** Parses events from bytes that arrive in arbitrary pieces. */
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

/** Finds the next line end. A `\r` at the very end waits for the next piece, which may start with `\n`. */
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

/** How to follow a stream. */
export interface FollowOptions {
  /** Whether this event is the last one. */
  isLast: (event: ServerEvent) => boolean;
  /** Whether the stream only ends with its last event: any other end means that the daemon went away. */
  endless: boolean;
  /** The id of the last event of an earlier stream. */
  lastId?: string | undefined;
}

/**
 * Follows a stream up to its last event. If the daemon goes away, the stream continues at the next one, without loss or repetition.
 * Events are read only as fast as they are consumed.
 */
export async function* follow(transport: Transport, request: ApiRequest, options: FollowOptions): AsyncGenerator<ServerEvent, void> {
  let { lastId } = options;
  const timer = new ReconnectTimer(transport.reconnectMs, request.signal);
  for (;;) {
    let lost: unknown = new ConnectionLost("maybe", "the stream has ended");
    try {
      const headers = { accept: "text/event-stream", ...(lastId !== undefined && { "last-event-id": lastId }) };
      const response = await transport.open({ ...request, headers: { ...request.headers, ...headers } });
      if (response.statusCode === 204) {
        response.resume();
        return;
      }
      const parser = new EventParser();
      for await (const bytes of pieces(response)) {
        for (const event of parser.push(bytes)) {
          timer.reset();
          lastId = event.id ?? lastId;
          yield event;
          if (options.isLast(event)) return;
        }
      }
      if (!options.endless) return;
    } catch (error) {
      request.signal?.throwIfAborted();
      if (!isLoss(error)) throw error;
      lost = error;
    }
    await timer.wait(lost);
  }
}

/** Yields the body of a response; throws when the connection is lost. */
async function* pieces(response: IncomingMessage): AsyncGenerator<Buffer, void> {
  response.setTimeout(SILENCE_MS, () => response.destroy(new Error("no heartbeat from the daemon")));
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    throw new ConnectionLost("maybe", error);
  } finally {
    response.destroy();
  }
}

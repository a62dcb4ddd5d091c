import http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";

import { KennelProblem } from "./errors.js";
import { type Operations, ROUTES } from "./generated.js";
import { isLoss, Lost, Patience, unreachable } from "./patience.js";

/** Where the daemon is. */
export type Target =
  | { socket: string }
  | { url: URL; token?: string | undefined; ca?: string | Buffer | undefined };

/** Whether a request may be made again if nobody knows whether it was heard. */
export type Repeat =
  /** It is the same, however often it is made. */
  | "safe"
  /** Only if nobody has heard it. */
  | "unsent";

/** The value of a query. */
type Queried = string | number | boolean | null | undefined;

/** A request. */
export interface Asked {
  method: string;
  path: string;
  query?: Record<string, Queried> | undefined;
  body?: unknown | undefined;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
}

type Parameters<Name extends keyof Operations> = {
  signal?: AbortSignal | undefined;
  repeat?: Repeat | undefined;
} & (Operations[Name]["path"] extends Record<string, never> ? { path?: never } : { path: Operations[Name]["path"] }) &
  (Operations[Name]["query"] extends Record<string, never> ? { query?: never } : { query?: Operations[Name]["query"] }) &
  (Operations[Name]["body"] extends undefined ? { body?: never } : { body?: Operations[Name]["body"] });

/** The way to the daemon: connections are kept and shared, and what may be repeated is, if a daemon is lost over it. */
export class Transport {
  readonly #target: Target;
  readonly #agent: http.Agent;

  constructor(
    target: Target,
    /** How long a daemon that went is looked for. */
    readonly reconnectMs: number,
  ) {
    this.#target = target;
    const kept = { keepAlive: true, maxFreeSockets: 16 };
    this.#agent = this.#isSecure() ? new https.Agent(kept) : new http.Agent(kept);
  }

  /** Lets go of all connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Asks for something, and reads the answer. */
  async call<Name extends keyof Operations>(
    name: Name,
    parameters: Parameters<Name>,
  ): Promise<Operations[Name]["answer"]> {
    const { method } = ROUTES[name];
    const { query, body, signal } = parameters;
    const asked: Asked = { method, path: pathOf(name, parameters.path), query, body, signal };
    const repeat = parameters.repeat ?? (method === "GET" ? "safe" : "unsent");
    const answer = await this.text(asked, repeat);
    return (answer === "" ? undefined : JSON.parse(answer)) as Operations[Name]["answer"];
  }

  /** The same for what is no JSON. */
  async text(asked: Asked, repeat: Repeat): Promise<string> {
    const patience = new Patience(this.reconnectMs, asked.signal);
    for (;;) {
      try {
        return await this.#read(asked, repeat);
      } catch (error) {
        if (!isLoss(error) && !isLeaving(error, asked.method)) throw error;
        const heard = !(error instanceof Lost) || error.reached === "maybe";
        if (heard && repeat === "unsent") throw error instanceof Lost ? unreachable(error) : error;
        await patience.lost(error);
      }
    }
  }

  async #read(asked: Asked, repeat: Repeat): Promise<string> {
    const response = await this.open(asked, repeat === "safe" ? this.#agent : false);
    try {
      return await text(response);
    } catch (error) {
      asked.signal?.throwIfAborted();
      throw new Lost("maybe", error);
    }
  }

  /** Asks once. Whatever is no success is thrown. */
  async open(asked: Asked, agent: http.Agent | false = this.#agent): Promise<http.IncomingMessage> {
    const response = await this.#request(asked, agent);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    const body = await text(response).catch((error: unknown) => {
      asked.signal?.throwIfAborted();
      throw new Lost("maybe", error);
    });
    throw KennelProblem.read(status, body);
  }

  #request(asked: Asked, agent: http.Agent | false): Promise<http.IncomingMessage> {
    asked.signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const body = asked.body === undefined ? undefined : Buffer.from(JSON.stringify(asked.body));
      const length = body && { "content-type": "application/json", "content-length": String(body.length) };
      const request = this.#begin(asked, { ...length, ...asked.headers }, agent);
      const reached = watch(request);
      request.once("response", resolve);
      request.once("error", (error) => {
        reject(asked.signal?.aborted ? asked.signal.reason : new Lost(reached(), error));
      });
      request.end(body);
    });
  }

  /** Asks for another protocol on a connection of its own. */
  upgrade(asked: Asked): Promise<{ response: http.IncomingMessage; socket: Duplex; head: Buffer }> {
    asked.signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const request = this.#begin(asked, asked.headers ?? {}, false);
      const reached = watch(request);
      request.once("upgrade", (response, socket, head) => resolve({ response, socket, head }));
      request.once("response", (response) => {
        text(response).then(
          (body) => reject(KennelProblem.read(response.statusCode ?? 0, body)),
          (error: unknown) => reject(new Lost("maybe", error)),
        );
      });
      request.once("error", (error) => {
        reject(asked.signal?.aborted ? asked.signal.reason : new Lost(reached(), error));
      });
      request.end();
    });
  }

  #begin(asked: Asked, headers: Record<string, string>, agent: http.Agent | false): http.ClientRequest {
    const { method, signal } = asked;
    const path = asked.path + queryOf(asked.query);
    const common = { method, agent, ...(signal && { signal }) };
    if ("socket" in this.#target) {
      const to = { socketPath: this.#target.socket, path, headers: { host: "kennel", ...headers } };
      return http.request({ ...common, ...to });
    }
    const { url, token, ca } = this.#target;
    const all = token === undefined ? headers : { authorization: `Bearer ${token}`, ...headers };
    const to = new URL(url.pathname.replace(/\/$/, "") + path, url);
    return this.#isSecure()
      ? https.request(to, { ...common, headers: all, ...(ca !== undefined && { ca }) })
      : http.request(to, { ...common, headers: all });
  }

  #isSecure(): boolean {
    return "url" in this.#target && this.#target.url.protocol === "https:";
  }
}

/** Says, when asked, whether the request may have been heard. */
function watch(request: http.ClientRequest): () => "unsent" | "maybe" {
  let connected = false;
  request.once("socket", (socket) => {
    connected = !socket.connecting;
    if (socket.connecting) {
      socket.once("connect", () => {
        connected = true;
      });
    }
  });
  return () => (connected ? "maybe" : "unsent");
}

/** Whoever waits is let go when the daemon leaves; the next one can be asked. */
function isLeaving(error: unknown, method: string): boolean {
  return method === "GET" && error instanceof KennelProblem && error.code === "refused";
}

/** The path of an operation, with its parts filled in. */
export function pathOf(name: keyof Operations, parts: Record<string, string> | undefined): string {
  return ROUTES[name].path.replace(/\{(\w+)\}/g, (_, part: string) => {
    const value = parts?.[part];
    if (!value) throw new TypeError(`${name} needs a ${part}`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: Asked["query"]): string {
  const said = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const pairs = said.map(([name, value]): [string, string] => [name, String(value)]);
  const text = new URLSearchParams(pairs).toString();
  return text && `?${text}`;
}

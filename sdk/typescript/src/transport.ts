import http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";

import { KennelProblem } from "./errors.js";
import { type Operations, ROUTES } from "./generated.js";
import { ConnectionLost, isLoss, ReconnectTimer, unreachable } from "./reconnect.js";

/** The address of the daemon. */
export type Target =
  | { socket: string }
  | { url: URL; token?: string | undefined; ca?: string | Buffer | undefined };

/** When a request may be repeated after its connection was lost. */
export type Repeat =
  /** Always: it is idempotent. */
  | "safe"
  /** Only if it was not sent. */
  | "unsent";

type QueryValue = string | number | boolean | null | undefined;

/** An API request. */
export interface ApiRequest {
  method: string;
  path: string;
  query?: Record<string, QueryValue> | undefined;
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

/** Sends requests to the daemon over pooled connections, and repeats them where that is safe. */
export class Transport {
  readonly #target: Target;
  readonly #agent: http.Agent;

  constructor(
    target: Target,
    /** How long to reconnect when the daemon goes away. */
    readonly reconnectMs: number,
  ) {
    this.#target = target;
    const kept = { keepAlive: true, maxFreeSockets: 16 };
    this.#agent = this.#isSecure() ? new https.Agent(kept) : new http.Agent(kept);
  }

  /** Closes all connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Calls an operation and returns its JSON response. */
  async call<Name extends keyof Operations>(
    name: Name,
    parameters: Parameters<Name>,
  ): Promise<Operations[Name]["answer"]> {
    const { method } = ROUTES[name];
    const { query, body, signal } = parameters;
    const call: ApiRequest = { method, path: pathOf(name, parameters.path), query, body, signal };
    const repeat = parameters.repeat ?? (method === "GET" ? "safe" : "unsent");
    const answer = await this.text(call, repeat);
    return (answer === "" ? undefined : JSON.parse(answer)) as Operations[Name]["answer"];
  }

  /** Sends a request and returns the response as text. */
  async text(call: ApiRequest, repeat: Repeat): Promise<string> {
    const timer = new ReconnectTimer(this.reconnectMs, call.signal);
    for (;;) {
      try {
        return await this.#read(call, repeat);
      } catch (error) {
        if (!isLoss(error) && !isShuttingDown(error, call.method)) throw error;
        const mayHaveArrived = !(error instanceof ConnectionLost) || error.reached === "maybe";
        if (mayHaveArrived && repeat === "unsent") throw error instanceof ConnectionLost ? unreachable(error) : error;
        await timer.wait(error);
      }
    }
  }

  async #read(call: ApiRequest, repeat: Repeat): Promise<string> {
    const response = await this.open(call, repeat === "safe" ? this.#agent : false);
    try {
      return await text(response);
    } catch (error) {
      call.signal?.throwIfAborted();
      throw new ConnectionLost("maybe", error);
    }
  }

  /** Sends a request once. Throws unless the response is successful. */
  async open(call: ApiRequest, agent: http.Agent | false = this.#agent): Promise<http.IncomingMessage> {
    const response = await this.#request(call, agent);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    const body = await text(response).catch((error: unknown) => {
      call.signal?.throwIfAborted();
      throw new ConnectionLost("maybe", error);
    });
    throw KennelProblem.read(status, body);
  }

  #request(call: ApiRequest, agent: http.Agent | false): Promise<http.IncomingMessage> {
    call.signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
      const length = body && { "content-type": "application/json", "content-length": String(body.length) };
      const request = this.#begin(call, { ...length, ...call.headers }, agent);
      const reached = watch(request);
      request.once("response", resolve);
      request.once("error", (error) => {
        reject(call.signal?.aborted ? call.signal.reason : new ConnectionLost(reached(), error));
      });
      request.end(body);
    });
  }

  /** Upgrades a new connection to another protocol. */
  upgrade(call: ApiRequest): Promise<{ response: http.IncomingMessage; socket: Duplex; head: Buffer }> {
    call.signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const request = this.#begin(call, call.headers ?? {}, false);
      const reached = watch(request);
      request.once("upgrade", (response, socket, head) => resolve({ response, socket, head }));
      request.once("response", (response) => {
        text(response).then(
          (body) => reject(KennelProblem.read(response.statusCode ?? 0, body)),
          (error: unknown) => reject(new ConnectionLost("maybe", error)),
        );
      });
      request.once("error", (error) => {
        reject(call.signal?.aborted ? call.signal.reason : new ConnectionLost(reached(), error));
      });
      request.end();
    });
  }

  #begin(call: ApiRequest, headers: Record<string, string>, agent: http.Agent | false): http.ClientRequest {
    const { method, signal } = call;
    const path = call.path + queryOf(call.query);
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

/** Returns a function that reports whether the request may have arrived. */
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

/** A daemon that is shutting down refuses pending waits; the next daemon can answer them. */
function isShuttingDown(error: unknown, method: string): boolean {
  return method === "GET" && error instanceof KennelProblem && error.code === "refused";
}

/** Returns the path of an operation with its parameters filled in. */
export function pathOf(name: keyof Operations, parts: Record<string, string> | undefined): string {
  return ROUTES[name].path.replace(/\{(\w+)\}/g, (_, part: string) => {
    const value = parts?.[part];
    if (!value) throw new TypeError(`${name} needs a ${part}`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: ApiRequest["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const pairs = given.map(([name, value]): [string, string] => [name, String(value)]);
  const text = new URLSearchParams(pairs).toString();
  return text && `?${text}`;
}

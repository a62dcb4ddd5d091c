import type { ProblemDetails } from "./types.ts";

/** An error response of the daemon, or a request that got no response. */
export class ApiError extends Error {
  /** Stable: `not_found`, `busy`, `conflict`, …; `unreachable` if there was no response. */
  readonly code: string;
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  readonly hint: string | null;
  /** Whether the daemon sent a problem document, as opposed to a proxy or another program. */
  readonly fromDaemon: boolean;

  constructor(status: number, code: string, detail: string, hint: string | null = null, fromDaemon = false) {
    super(detail);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.fromDaemon = fromDaemon;
  }

  /** Whether a retry may succeed soon, because the daemon is restarting. */
  get isTransient(): boolean {
    // `busy` and a refusal of the daemon are final. A 503 without a problem document comes from a daemon that is starting or shutting down.
    const isFinal = this.code === "busy" || (this.code === "refused" && this.fromDaemon);
    return this.status === 0 || this.code === "gone" || (this.status === 503 && !isFinal);
  }
}

/** Escapes a text for use as one path segment. */
export function segment(text: string): string {
  return encodeURIComponent(text);
}

/** Returns `?a=1&b=2`; undefined values are left out. */
export function query(params: Record<string, string | number | boolean | undefined>): string {
  const pairs = Object.entries(params).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

/** Sends a request to the daemon. Throws an {@link ApiError}. */
export async function ask(
  method: "GET" | "POST" | "DELETE",
  path: string,
  options: { body?: unknown; signal?: AbortSignal; accept?: string } = {},
): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: options.signal ?? null,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The daemon is not responding.");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<ApiError> {
  const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json");
  return apiErrorFrom(response.status, isProblem ? ((await response.json()) as ProblemDetails) : null);
}

/** Creates an error from a status and the problem document, if there is one. */
export function apiErrorFrom(status: number, problem: ProblemDetails | null): ApiError {
  if (!problem) return new ApiError(status, "refused", `The daemon responded with status ${status}.`);
  return new ApiError(status, problem.code, problem.detail, problem.hint ?? null, true);
}

/** The timeout of GET requests. */
const TIMEOUT_MS = 20_000;

/** Sends a GET request. A timeout is reported like a daemon that is not responding. */
export async function get<T>(path: string, signal?: AbortSignal, timeoutMs = TIMEOUT_MS): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await ask("GET", path, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    return (await response.json()) as T;
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted || !timeout.aborted) throw error;
    throw new ApiError(0, "unreachable", "The daemon is not responding.");
  }
}

export async function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const response = await ask("POST", path, signal ? { body, signal } : { body });
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

export async function remove<T = void>(path: string): Promise<T> {
  const response = await ask("DELETE", path);
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Returns the text of an error for the user. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) return error.hint ? `${error.message}; ${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}

/** The name of the caller in the event log, for requests of the dashboard. */
export const BY = "dashboard";

import type { Problem } from "./types.ts";

/** What the daemon refused, or why it could not be asked. */
export class Refusal extends Error {
  /** Stable: `not_found`, `busy`, `conflict`, …; `unreachable` if there was no answer at all. */
  readonly code: string;
  /** 0 if there was no answer. */
  readonly status: number;
  readonly hint: string | null;

  constructor(status: number, code: string, detail: string, hint: string | null = null) {
    super(detail);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.hint = hint;
  }

  /** Whether another daemon may answer in a moment. */
  get passes(): boolean {
    return this.status === 0 || this.status === 503 || this.code === "gone";
  }
}

/** In a path, whatever is in it. */
export function segment(text: string): string {
  return encodeURIComponent(text);
}

/** `?a=1&b=2`; what is undefined is left out. */
export function query(params: Record<string, string | number | boolean | undefined>): string {
  const pairs = Object.entries(params).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

/** Asks the daemon; throws a {@link Refusal}. */
export async function ask(
  method: "GET" | "POST" | "DELETE",
  path: string,
  options: { body?: unknown; signal?: AbortSignal; accept?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json", ...options.headers };
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
    throw new Refusal(0, "unreachable", "The daemon does not answer.");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<Refusal> {
  const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json");
  if (!isProblem) return new Refusal(response.status, "refused", `The daemon answered ${response.status}.`);
  const problem = (await response.json()) as Problem;
  return new Refusal(response.status, problem.code, problem.detail, problem.hint ?? null);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await ask("GET", path, signal ? { signal } : {});
  return (await response.json()) as T;
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

/** In a few words, for people. */
export function told(error: unknown): string {
  if (error instanceof Refusal) return error.hint ? `${error.message} ${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}

/** Who asks, for the event log. */
export const BY = "dashboard";

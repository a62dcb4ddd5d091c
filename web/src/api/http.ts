import type { Problem } from "./types.ts";

/** What the daemon refused, or why it could not be asked. */
export class Refusal extends Error {
  /** Stable: `not_found`, `busy`, `conflict`, …; `unreachable` if there was no answer at all. */
  readonly code: string;
  /** 0 if there was no answer. */
  readonly status: number;
  readonly hint: string | null;
  /** Whether the daemon itself has said why. */
  readonly isTold: boolean;

  constructor(status: number, code: string, detail: string, hint: string | null = null, isTold = false) {
    super(detail);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.isTold = isTold;
  }

  /** Whether another daemon may answer in a moment. */
  get passes(): boolean {
    // Who is busy, or takes nothing new, has answered; an answer that is no problem of ours comes from one that has no time for it.
    const isAnswer = this.code === "busy" || (this.code === "refused" && this.isTold);
    return this.status === 0 || this.code === "gone" || (this.status === 503 && !isAnswer);
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
    throw new Refusal(0, "unreachable", "The daemon does not answer.");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<Refusal> {
  const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json");
  return refusalOf(response.status, isProblem ? ((await response.json()) as Problem) : null);
}

/** What was refused, by its status and what was said of it, if anything was. */
export function refusalOf(status: number, problem: Problem | null): Refusal {
  if (!problem) return new Refusal(status, "refused", `The daemon answered ${status}.`);
  return new Refusal(status, problem.code, problem.detail, problem.hint ?? null, true);
}

/** What is only looked up takes no longer: without an answer by then there will be none. */
const PATIENCE_MS = 20_000;

/** Looks something up. Without a whole answer in time it is as if nobody were there. */
export async function get<T>(path: string, signal?: AbortSignal, patienceMs = PATIENCE_MS): Promise<T> {
  const late = AbortSignal.timeout(patienceMs);
  try {
    const response = await ask("GET", path, { signal: signal ? AbortSignal.any([signal, late]) : late });
    return (await response.json()) as T;
  } catch (error) {
    if (error instanceof Refusal || signal?.aborted || !late.aborted) throw error;
    throw new Refusal(0, "unreachable", "The daemon does not answer.");
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

/** In a few words, for people. */
export function told(error: unknown): string {
  if (error instanceof Refusal) return error.hint ? `${error.message} ${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}

/** Who asks, for the event log. */
export const BY = "dashboard";

import { BY, post, ApiError } from "../api/http.ts";
import type { AskRequest, SessionView } from "../api/types.ts";
import { refresh } from "../state/live.ts";

/** How long to retry while the daemon does not respond. */
const RETRY_FOR_MS = 20_000;
const PAUSE_MS = 300;

/**
 * Sends a prompt in the background, so that it continues when this page is closed. The idempotency key makes the request safe to
 * repeat if the daemon restarts. If this throws because there was no response, the prompt may still have been accepted: retry with
 * the same key.
 */
export async function sendPrompt(request: Omit<AskRequest, "key" | "detach" | "by">, key: string): Promise<SessionView> {
  const body: AskRequest = { ...request, detach: true, by: BY, key };
  const deadline = Date.now() + RETRY_FOR_MS;
  for (;;) {
    try {
      const session = await post<SessionView>("/v1/ask", body);
      refresh(session.id);
      return session;
    } catch (error) {
      const isTransient = error instanceof ApiError && error.isTransient;
      if (!isTransient || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** The prefix of the idempotency keys that the dashboard creates. */
export const KEY_PREFIX = "dashboard-";

/** Returns a new idempotency key for one prompt or session. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${KEY_PREFIX}${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

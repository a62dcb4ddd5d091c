import { BY, post, Refusal } from "../api/http.ts";
import type { AskRequest, SessionView } from "../api/types.ts";
import { refresh } from "../state/live.ts";

/** For so long a daemon that does not answer is asked again. */
const PATIENCE_MS = 20_000;
const PAUSE_MS = 300;

/**
 * Gives a prompt. It is left to itself: it goes on when this page is closed. With its key it is asked once, however often the
 * request had to be repeated, so that a daemon that dies right now neither loses nor doubles it. Without an answer it may have been
 * heard all the same: who asks for the same again gives the same key.
 */
export async function askAgent(request: Omit<AskRequest, "key" | "detach" | "by">, key: string): Promise<SessionView> {
  const body: AskRequest = { ...request, detach: true, by: BY, key };
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      const session = await post<SessionView>("/v1/ask", body);
      refresh(session.id);
      return session;
    } catch (error) {
      const unheard = error instanceof Refusal && error.passes;
      if (!unheard || Date.now() > deadline) throw error;
      await new Promise((soon) => setTimeout(soon, PAUSE_MS));
    }
  }
}

/** Of the keys that pages like this one make. */
export const KEY_PREFIX = "dashboard-";

/** For one prompt, or one session. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${KEY_PREFIX}${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

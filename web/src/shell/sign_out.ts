import { signal } from "@preact/signals";

import { ask, Refusal } from "../api/http.ts";
import { connection } from "../state/live.ts";
import { say, sayFailed } from "../ui/toast.tsx";

/** Whether the daemon lets browsers sign out: one that is older does not. */
export const canSignOut = signal(true);

/** Has the daemon forget this browser. */
export async function signOut(): Promise<void> {
  try {
    await ask("POST", "/v1/access/logout", { body: {} });
    connection.value = "signed_out";
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) {
      canSignOut.value = false;
      say("warn", "This daemon can't sign browsers out", "Run `kennel token revoke` with the browser's name instead.");
    } else if (error instanceof Refusal && error.status === 401) {
      connection.value = "signed_out";
    } else {
      sayFailed("You are not signed out", error);
    }
  }
}

import { signal } from "@preact/signals";

import { ask, ApiError } from "../api/http.ts";
import { connection } from "../state/live.ts";
import { showToast, showError } from "../ui/toast.tsx";

/** Whether the daemon supports signing out. */
export const canSignOut = signal(true);

/** Revokes this browser’s token. */
export async function signOut(): Promise<void> {
  try {
    await ask("POST", "/v1/access/logout", { body: {} });
    connection.value = "signed_out";
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) {
      canSignOut.value = false;
      showToast("warn", "This daemon does not support signing out", "Run `kennel token revoke` with the browser's name instead.");
    } else if (error instanceof ApiError && error.status === 401) {
      connection.value = "signed_out";
    } else {
      showError("Couldn’t sign out", error);
    }
  }
}

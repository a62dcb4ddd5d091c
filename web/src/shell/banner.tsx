import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { connection, onReturn } from "../state/live.ts";
import { Icon } from "../ui/icons.tsx";

const GLAD_MS = 3000;

/** Whether what is shown is true right now. */
export function Banner() {
  const back = useSignal(false);
  useEffect(
    () =>
      onReturn(() => {
        back.value = true;
        setTimeout(() => (back.value = false), GLAD_MS);
      }),
    [],
  );
  if (connection.value === "lost") {
    return (
      <div class="banner" role="status" data-state="lost">
        <span class="spinner" />
        The daemon does not answer. What you see is what it said last; sessions go on without it. Trying again…
      </div>
    );
  }
  if (connection.value === "signed_out") {
    return (
      <div class="banner" role="alert" data-state="signed_out">
        <Icon name="alert" />
        <span>
          This browser is signed out. Run <code>kennel dashboard</code> for a new link.
        </span>
      </div>
    );
  }
  if (back.value) {
    return (
      <div class="banner good" role="status" data-state="back">
        <Icon name="check" />
        The daemon is back.
      </div>
    );
  }
  return null;
}

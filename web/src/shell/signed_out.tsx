import { useEffect } from "preact/hooks";

import { get } from "../api/http.ts";
import { Button } from "../ui/button.tsx";
import { Copy } from "../ui/copy.tsx";
import { Icon } from "../ui/icons.tsx";

const COMMAND = "kennel dashboard";

/** In place of every page: the daemon does not know this browser any more. */
export function SignedOut() {
  useEffect(() => {
    document.querySelector("main")?.focus({ preventScroll: true });
    // A link that is opened in another tab lets this one in too.
    const look = () => {
      if (document.hidden) return;
      get("/v1/access/me").then(
        () => location.reload(),
        () => undefined,
      );
    };
    document.addEventListener("visibilitychange", look);
    addEventListener("focus", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      removeEventListener("focus", look);
    };
  }, []);
  return (
    <div class="state signed-out" role="alert" data-state="signed_out">
      <Icon name="out" />
      <h1>This browser is signed out</h1>
      <p>
        You signed out, its week is over, or its leave was revoked. Sessions go on as before. For a new link, run this where
        Kennel runs, and open what it prints:
      </p>
      <p class="command">
        <code>{COMMAND}</code>
        <Copy text={COMMAND} label="Copy the command" />
      </p>
      <Button icon="refresh" onClick={() => location.reload()}>
        Try again
      </Button>
    </div>
  );
}

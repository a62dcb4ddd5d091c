import { useEffect } from "preact/hooks";

import { get } from "../api/http.ts";
import { Button } from "../ui/button.tsx";
import { Copy } from "../ui/copy.tsx";
import { Icon } from "../ui/icons.tsx";

const COMMAND = "kennel dashboard";

/** Replaces every page when this browser is no longer signed in. */
export function SignedOut() {
  useEffect(() => {
    document.querySelector("main")?.focus({ preventScroll: true });
    // A sign-in link that is opened in another tab also signs this one in.
    const check = () => {
      if (document.hidden) return;
      get("/v1/access/me").then(
        () => location.reload(),
        () => undefined,
      );
    };
    document.addEventListener("visibilitychange", check);
    addEventListener("focus", check);
    return () => {
      document.removeEventListener("visibilitychange", check);
      removeEventListener("focus", check);
    };
  }, []);
  return (
    <div class="state signed-out" role="alert" data-state="signed_out">
      <Icon name="out" />
      <h1>This browser is signed out</h1>
      <p>
        You signed out, the sign-in expired after a week, or its token was revoked. Sessions keep running. To sign in again, run this
        command on the machine that runs Kennel, and open the link it prints:
      </p>
      <p class="command">
        <code>{COMMAND}</code>
        <Copy text={COMMAND} label="Copy command" />
      </p>
      <Button icon="refresh" onClick={() => location.reload()}>
        Try again
      </Button>
    </div>
  );
}

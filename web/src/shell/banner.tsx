import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { now } from "../state/clock.ts";
import { connection, onReconnected } from "../state/live.ts";
import { Button } from "../ui/button.tsx";
import { age } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { lostSince, upgradedTo } from "./connection.ts";

const RECONNECTED_MS = 3000;
/** After this time the daemon is probably not just restarting. */
const LONG_MS = 10_000;

/** Shows whether the page is up to date. It overlays the page, so that nothing moves while the daemon restarts. */
export function Banner() {
  const back = useSignal(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unsubscribe = onReconnected(() => {
      back.value = true;
      clearTimeout(timer);
      timer = setTimeout(() => (back.value = false), RECONNECTED_MS);
    });
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, []);
  if (connection.value === "lost") return <Lost />;
  if (connection.value === "signed_out") return null;
  if (back.value) {
    return (
      <div class="banner good" role="status" data-state="back">
        <Icon name="check" />
        Reconnected to the daemon.
      </div>
    );
  }
  if (upgradedTo.value !== null) {
    return (
      <div class="banner plain" role="status" data-state="upgraded">
        <span class="grow">
          Kennel was updated to version <span class="foreign">{upgradedTo.value}</span>. Reload to update this page.
        </span>
        <Button compact icon="refresh" onClick={() => location.reload()}>
          Reload
        </Button>
      </div>
    );
  }
  return null;
}

function Lost() {
  const since = lostSince.value ?? Date.now();
  const elapsed = Math.max(0, now.value - since);
  return (
    <div class="banner" role="status" data-state="lost">
      <span class="spinner" />
      <span class="grow">
        The daemon is not responding. This page may be out of date; sessions keep running.{" "}
        {elapsed > LONG_MS && (
          <>
            If it was stopped, run <code>kennel dashboard</code> to start it and get a new link.{" "}
          </>
        )}
        <span class="elapsed" aria-hidden="true">
          Reconnecting for {age(elapsed)}…
        </span>
      </span>
    </div>
  );
}

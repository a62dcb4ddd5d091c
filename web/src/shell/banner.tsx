import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { now } from "../state/clock.ts";
import { connection, onReturn } from "../state/live.ts";
import { Button } from "../ui/button.tsx";
import { age } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { lostSince, upgradedTo } from "./connection.ts";

const GLAD_MS = 3000;
/** After so long it is more than a restart. */
const LONG_MS = 10_000;

/** Whether what is shown is true right now. It lies over the page, so that nothing moves when a daemon is replaced. */
export function Banner() {
  const back = useSignal(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const deaf = onReturn(() => {
      back.value = true;
      clearTimeout(timer);
      timer = setTimeout(() => (back.value = false), GLAD_MS);
    });
    return () => {
      clearTimeout(timer);
      deaf();
    };
  }, []);
  if (connection.value === "lost") return <Lost />;
  if (connection.value === "signed_out") return null;
  if (back.value) {
    return (
      <div class="banner good" role="status" data-state="back">
        <Icon name="check" />
        The daemon is back.
      </div>
    );
  }
  if (upgradedTo.value !== null) {
    return (
      <div class="banner plain" role="status" data-state="upgraded">
        <span class="grow">
          Kennel is version <span class="foreign">{upgradedTo.value}</span> now; this page is of another.
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
  const lasts = Math.max(0, now.value - since);
  return (
    <div class="banner" role="status" data-state="lost">
      <span class="spinner" />
      <span class="grow">
        The daemon does not answer. What you see is what it said last; sessions go on without it.{" "}
        {lasts > LONG_MS && (
          <>
            If it was stopped: <code>kennel dashboard</code> starts another, with a link.{" "}
          </>
        )}
        <span class="lasts" aria-hidden="true">
          Trying again, for {age(lasts)} so far.
        </span>
      </span>
    </div>
  );
}

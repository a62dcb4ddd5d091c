import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";

import type { SessionView } from "../api/types.ts";
import { duration } from "../ui/format.ts";
import type { Grace } from "./stop.ts";

const LONGEST_S = 60;

/** Lets the user choose how long a stop waits between SIGTERM and SIGKILL. */
export function GraceChoice({ sessions, grace }: { sessions: readonly SessionView[]; grace: Signal<Grace> }) {
  const name = useId();
  const kind = grace.value.kind;
  const seconds = grace.value.kind === "seconds" ? grace.value.seconds : 5;
  return (
    <fieldset class="choices">
      <legend>Grace period</legend>
      <label class="check">
        <input type="radio" name={name} checked={kind === "own"} onChange={() => void (grace.value = { kind: "own" })} />
        <span>
          {sessions.length === 1 ? "Default" : "Each session’s default"} <span class="muted">({own(sessions)})</span>
        </span>
      </label>
      <span class="check">
        <input
          type="radio"
          name={name}
          aria-label="Custom grace period"
          checked={kind === "seconds"}
          onChange={() => void (grace.value = { kind: "seconds", seconds })}
        />
        <input
          class="input seconds"
          type="number"
          min={0}
          max={LONGEST_S}
          aria-label="Grace period in seconds"
          value={seconds}
          onInput={(event) => {
            const asked = event.currentTarget.valueAsNumber;
            if (Number.isFinite(asked)) grace.value = { kind: "seconds", seconds: Math.min(LONGEST_S, Math.max(0, Math.round(asked))) };
          }}
        />
        <span>seconds</span>
      </span>
      <label class="check">
        <input type="radio" name={name} checked={kind === "now"} onChange={() => void (grace.value = { kind: "now" })} />
        <span>
          None: SIGKILL immediately <span class="muted">(unsaved work is lost)</span>
        </span>
      </label>
    </fieldset>
  );
}

function own(sessions: readonly SessionView[]): string {
  const graces = sessions.map((session) => session.spec.grace_ms);
  const [least, most] = [Math.min(...graces), Math.max(...graces)];
  return least === most ? duration(least) : `${duration(least)} to ${duration(most)}`;
}

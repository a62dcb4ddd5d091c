import { useSignal } from "@preact/signals";

import type { StraysEnded } from "../../api/types.ts";
import { live, loaded } from "../../state/live.ts";
import { mayChange } from "../../state/me.ts";
import { failure, looked, lookedAt, lookForStrays, looking, outside, strays } from "../../state/strays.ts";
import { Age } from "../../ui/age.tsx";
import { Button } from "../../ui/button.tsx";
import { counted } from "../../ui/format.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { told } from "../../api/http.ts";
import { EndStrays } from "./end.tsx";
import { Outcome } from "./outcome.tsx";
import { StrayTable } from "./table.tsx";
import "./strays.css";

/** Processes that bear Kennel's mark and belong to no live session: there should be none. */
export function StraysPage(_: { parts: string[] }) {
  const asking = useSignal(false);
  const outcome = useSignal<StraysEnded | null>(null);
  return (
    <div class="stack">
      <div class="page-head strays-head">
        <h1>Strays</h1>
        <span class="muted small grow">
          {lookedAt.value && (
            <>
              looked <Age since={lookedAt.value} /> ago
            </>
          )}
        </span>
        <Button icon="refresh" disabled={looking.value} onClick={() => void lookForStrays()}>
          Look again
        </Button>
        {mayChange.value && strays.value.length > 0 && (
          <Button icon="stop" kind="danger" onClick={() => void (asking.value = true)}>
            End all…
          </Button>
        )}
      </div>
      {outcome.value && <Outcome outcome={outcome.value} close={() => void (outcome.value = null)} />}
      <Found />
      {asking.value && (
        <EndStrays
          close={() => void (asking.value = false)}
          ended={(result) => {
            outcome.value = result;
            asking.value = false;
          }}
        />
      )}
    </div>
  );
}

function Found() {
  if (looked.value === "not yet") return <Loading what="Looking at every process of this machine…" />;
  if (looked.value === "failed") {
    return <Failed what="Strays can't be looked for" error={failure.value} again={() => void lookForStrays()} />;
  }
  return (
    <>
      {failure.value !== null && (
        <p class="note warn" role="status">
          <span>
            The last look failed: <span class="foreign">{told(failure.value)}</span> What is below was seen before.
          </span>
        </p>
      )}
      {strays.value.length > 0 ? (
        <section class="card" aria-labelledby="strays-found">
          <header>
            <h2 id="strays-found">{counted(strays.value.length, "stray")}</h2>
          </header>
          <p class="card-word muted small">
            Each bears the mark of this home, and its session is over. Kennel ends such processes by itself when a session ends; what
            is here came later, or escaped.
          </p>
          <StrayTable strays={strays.value} label="Strays" />
        </section>
      ) : (
        <Empty icon="check" title="No strays">
          <p>
            {loaded.value ? `${counted(live.value.length, "live session")}, every process accounted for.` : "Every process is accounted for."}
          </p>
          <p class="small">
            A stray is a process that bears Kennel's mark and belongs to no live session. Kennel looks every 15 seconds while this page is
            open.
          </p>
        </Empty>
      )}
      {outside.value.length > 0 && (
        <section class="card" aria-labelledby="outside-found">
          <header>
            <h2 id="outside-found">{counted(outside.value.length, "process", "processes")} outside</h2>
          </header>
          <p class="card-word muted small">
            Each bears the mark of a live session, but is not in its pen: another program, like a container's daemon or a tmux server that
            was there before, started it at the agent's request. Kennel does not own it, and does not end it while the session lives.
          </p>
          <StrayTable strays={outside.value} label="Processes outside" />
        </section>
      )}
    </>
  );
}

import { useSignal } from "@preact/signals";

import type { StraysEnded } from "../../api/types.ts";
import { live, loaded } from "../../state/live.ts";
import { mayChange } from "../../state/me.ts";
import { failure, scanState, scannedAt, scanForStrays, isScanning, outside, strays } from "../../state/strays.ts";
import { Age } from "../../ui/age.tsx";
import { Button } from "../../ui/button.tsx";
import { pluralize } from "../../ui/format.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { errorText } from "../../api/http.ts";
import { EndStrays } from "./end.tsx";
import { Outcome } from "./outcome.tsx";
import { StrayTable } from "./table.tsx";
import "./strays.css";

/** Lists processes that Kennel sessions started and that belong to no live session. */
export function StraysPage(_: { parts: string[] }) {
  const confirming = useSignal(false);
  const outcome = useSignal<StraysEnded | null>(null);
  return (
    <div class="stack">
      <div class="page-head strays-head">
        <h1>Strays</h1>
        <span class="muted small grow">
          {scannedAt.value && (
            <>
              scanned <Age since={scannedAt.value} /> ago
            </>
          )}
        </span>
        <Button icon="refresh" disabled={isScanning.value} onClick={() => void scanForStrays()}>
          Scan again
        </Button>
        {mayChange.value && strays.value.length > 0 && (
          <Button icon="stop" kind="danger" onClick={() => void (confirming.value = true)}>
            End all…
          </Button>
        )}
      </div>
      {outcome.value && <Outcome outcome={outcome.value} close={() => void (outcome.value = null)} />}
      <ScanResult />
      {confirming.value && (
        <EndStrays
          close={() => void (confirming.value = false)}
          ended={(result) => {
            outcome.value = result;
            confirming.value = false;
          }}
        />
      )}
    </div>
  );
}

function ScanResult() {
  if (scanState.value === "pending") return <Loading what="Scanning all processes…" />;
  if (scanState.value === "failed") {
    return <Failed what="Couldn’t scan for strays" error={failure.value} retry={() => void scanForStrays()} />;
  }
  return (
    <>
      {failure.value !== null && (
        <p class="note warn" role="status">
          <span>
            The last scan failed: <span class="foreign">{errorText(failure.value)}</span> The list below may be out of date.
          </span>
        </p>
      )}
      {strays.value.length > 0 ? (
        <section class="card" aria-labelledby="strays-found">
          <header>
            <h2 id="strays-found">{pluralize(strays.value.length, "stray")}</h2>
          </header>
          <p class="card-word muted small">
            These processes were started by sessions of this home that have ended. Kennel ends such processes when a session ends; these
            appeared later or escaped.
          </p>
          <StrayTable strays={strays.value} label="Strays" />
        </section>
      ) : (
        <Empty icon="check" title="No strays">
          <p>
            {loaded.value ? `${pluralize(live.value.length, "live session")}, all processes accounted for.` : "All processes are accounted for."}
          </p>
          <p class="small">
            A stray is a process that a Kennel session started and that belongs to no live session. This page scans every 15 seconds.
          </p>
        </Empty>
      )}
      {outside.value.length > 0 && (
        <section class="card" aria-labelledby="outside-found">
          <header>
            <h2 id="outside-found">{pluralize(outside.value.length, "process", "processes")} outside their pen</h2>
          </header>
          <p class="card-word muted small">
            These processes belong to a live session but are not in its pen: another program, such as a container daemon or an existing tmux
            server, started them for the agent. Kennel does not end them while the session is live.
          </p>
          <StrayTable strays={outside.value} label="Processes outside their pen" />
        </section>
      )}
    </>
  );
}

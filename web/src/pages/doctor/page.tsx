import { useEffect } from "preact/hooks";

import { told } from "../../api/http.ts";
import { Age } from "../../ui/age.tsx";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Failed, Loading } from "../../ui/states.tsx";
import { DaemonFacts } from "./daemon.tsx";
import { asText, diagnosis, examine, examinedAt, examining, failure } from "./examination.ts";
import { Report } from "./report.tsx";
import { Figures, Readiness } from "./work.tsx";
import "./doctor.css";

/** What this machine offers, found by trying it, and how the daemon is. */
export function DoctorPage(_: { parts: string[] }) {
  useEffect(() => {
    if (diagnosis.peek() === null) void examine();
  }, []);
  const report = diagnosis.value;
  return (
    <div class="stack">
      <div class="page-head doctor-head">
        <h1>Doctor</h1>
        <span class="muted small grow" role="status">
          {examining.value && report && "Examining, with real pens…"}
          {!examining.value && examinedAt.value && (
            <>
              examined <Age since={examinedAt.value} /> ago
            </>
          )}
        </span>
        {report && <Copy text={() => asText(report)} label="Copy the report as text" />}
        <Button icon="refresh" disabled={examining.value} onClick={() => void examine()}>
          Examine again
        </Button>
      </div>
      {failure.value !== null && report && (
        <p class="note warn" role="alert">
          <span>
            The last examination failed: <span class="foreign">{told(failure.value)}</span>
          </span>
        </p>
      )}
      {report && <Report diagnosis={report} />}
      {!report && examining.value && (
        <div class="card">
          <Loading what="Trying real pens, each with an agent that leaves a daemon behind. This takes a second…" />
        </div>
      )}
      {!report && !examining.value && failure.value !== null && (
        <div class="card">
          <Failed what="This machine can't be examined" error={failure.value} again={() => void examine()} />
        </div>
      )}
      <div class="doctor-columns">
        <DaemonFacts />
        <Readiness />
      </div>
      <Figures />
    </div>
  );
}

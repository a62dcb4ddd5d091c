import { useEffect } from "preact/hooks";

import { errorText } from "../../api/http.ts";
import { Age } from "../../ui/age.tsx";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Failed, Loading } from "../../ui/states.tsx";
import { DaemonFacts } from "./daemon.tsx";
import { asText, diagnosis, runChecks, checkedAt, isChecking, failure } from "./diagnosis.ts";
import { Report } from "./report.tsx";
import { Metrics, Readiness } from "./readiness.tsx";
import "./doctor.css";

/** Shows what this machine supports, found by trying it, and the state of the daemon. */
export function DoctorPage(_: { parts: string[] }) {
  useEffect(() => {
    if (diagnosis.peek() === null) void runChecks();
  }, []);
  const report = diagnosis.value;
  return (
    <div class="stack">
      <div class="page-head doctor-head">
        <h1>Doctor</h1>
        <span class="muted small grow" role="status">
          {isChecking.value && report && "Checking…"}
          {!isChecking.value && checkedAt.value && (
            <>
              checked <Age since={checkedAt.value} /> ago
            </>
          )}
        </span>
        {report && <Copy text={() => asText(report)} label="Copy report as text" />}
        <Button icon="refresh" disabled={isChecking.value} onClick={() => void runChecks()}>
          Check again
        </Button>
      </div>
      {failure.value !== null && report && (
        <p class="note warn" role="alert">
          <span>
            The last check failed: <span class="foreign">{errorText(failure.value)}</span>
          </span>
        </p>
      )}
      {report && <Report diagnosis={report} />}
      {!report && isChecking.value && (
        <div class="card">
          <Loading what="Checking each kind of pen with an agent that leaves a daemon process behind…" />
        </div>
      )}
      {!report && !isChecking.value && failure.value !== null && (
        <div class="card">
          <Failed what="Couldn’t check this machine" error={failure.value} retry={() => void runChecks()} />
        </div>
      )}
      <div class="doctor-columns">
        <DaemonFacts />
        <Readiness />
      </div>
      <Metrics />
    </div>
  );
}

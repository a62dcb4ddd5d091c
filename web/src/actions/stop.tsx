import "./stop.css";

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";

import { errorText } from "../api/http.ts";
import type { SessionView, StopResponse } from "../api/types.ts";
import { answers, usageOf, useUsage } from "../state/usage.ts";
import { SessionStateBadge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { pluralize, duration, truncate } from "../ui/format.ts";
import { showToast } from "../ui/toast.tsx";
import { displayName } from "../ui/labels.ts";
import { GraceChoice } from "./grace.tsx";
import { canStop, type Grace, type Outcome, type Progress, stop, type Stopping } from "./stop.ts";

/** At most this many sessions are listed by name. */
const MAX_LISTED = 100;

/** How many processes the session had at the last measurement; null if unknown. */
function processesOf(session: SessionView): number | null {
  return usageOf(session.id).value.at(-1)?.processes ?? null;
}

/**
 * Shows which processes a stop would end, stops the sessions, and shows the outcome. Reads the sessions and `initialGrace`, the
 * suggested grace period, once, when the dialog opens.
 */
export function StopDialog({ sessions, close, initialGrace }: { sessions: readonly SessionView[]; close: () => void; initialGrace?: Grace }) {
  useUsage();
  const targets = useRef(sessions.filter(canStop)).current;
  const grace = useSignal<Grace>(initialGrace ?? { kind: "own" });
  const stopping = useSignal<Stopping | null>(null);
  const outcome = useSignal<Outcome | null>(null);
  const open = useRef(true);
  useEffect(() => () => void (open.current = false), []);

  const begin = () => {
    if (stopping.value) return;
    stopping.value = stop(targets.map((session) => ({ session, processes: processesOf(session) })), grace.value);
    void stopping.value.done.then((result) => {
      outcome.value = result;
      if (!open.current) showToast(result.tone, result.text);
    });
  };

  const title = targets.length === 1 ? `Stop ${truncate(displayName(targets[0]!))}` : `Stop ${pluralize(targets.length, "session")}`;
  if (targets.length === 0) {
    return (
      <Dialog title="Nothing to stop" close={close}>
        <p>{sessions.length === 1 ? "The session has already ended." : "The sessions have already ended."}</p>
        <div class="actions">
          <Button onClick={close}>Close</Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={title} close={close}>
      {!stopping.value && <StopSummary sessions={targets} isNow={grace.value.kind === "now"} />}
      <ul class="stop-list" tabIndex={0} aria-label="Sessions to stop">
        {targets.slice(0, MAX_LISTED).map((session, at) => (
          <li key={session.id}>
            <span class="grow cut foreign">{truncate(displayName(session), 200)}</span>
            {stopping.value ? <StopProgress stop={stopping.value.stops[at]!.progress.value} /> : <CurrentState session={session} />}
          </li>
        ))}
        {targets.length > MAX_LISTED && <li class="muted">and {(targets.length - MAX_LISTED).toLocaleString("en")} more</li>}
      </ul>
      {stopping.value ? (
        <StopOutcome stopping={stopping.value} outcome={outcome.value} />
      ) : (
        <GraceChoice sessions={targets} grace={grace} />
      )}
      <div class="actions">
        {stopping.value ? (
          <Button kind={outcome.value ? "primary" : "plain"} onClick={close}>
            {outcome.value ? "Close" : "Continue in background"}
          </Button>
        ) : (
          <>
            <Button onClick={close}>Cancel</Button>
            <Button kind="danger primary" icon="stop" onClick={begin}>
              {targets.length === 1 ? "Stop session" : `Stop ${pluralize(targets.length, "session")}`}
            </Button>
          </>
        )}
      </div>
    </Dialog>
  );
}

function StopSummary({ sessions, isNow }: { sessions: readonly SessionView[]; isNow: boolean }) {
  const sum = useComputed(() => {
    void answers.value;
    return sessions.reduce((all, session) => all + (processesOf(session) ?? 0), 0);
  });
  const adopted = sessions.filter((session) => session.started_by === "terminal").length;
  const restarting = sessions.filter((session) => session.spec.restart?.policy === "on_failure").length;
  const trees = sessions.some((session) => session.spec.worktree);
  const it = sessions.length === 1;
  return (
    <div class="stack-small">
      <p>
        {sum.value > 0 ? (
          <>
            <strong>{pluralize(sum.value, "running process", "running processes")}</strong> will be ended
          </>
        ) : (
          <>Every process of {it ? "the session" : "these sessions"} will be ended</>
        )}
        {": "}
        {isNow ? "SIGKILL immediately." : "SIGTERM first, then SIGKILL to processes that are left after the grace period."}
      </p>
      {adopted > 0 && <p class="muted small">{it ? "The session was adopted" : `${adopted} of them were adopted`}: only the adopted process is ended, not its children.</p>}
      {restarting > 0 && <p class="muted small">{it ? "It restarts" : `${restarting} of them restart`} on failure, but not after this stop.</p>}
      {trees && <p class="muted small">A worktree with unmerged or uncommitted work is kept.</p>}
    </div>
  );
}

function CurrentState({ session }: { session: SessionView }) {
  const processes = processesOf(session);
  return (
    <>
      {processes !== null && <span class="muted small">{pluralize(processes, "process", "processes")}</span>}
      <SessionStateBadge session={session} />
    </>
  );
}

function StopProgress({ stop }: { stop: Progress }) {
  switch (stop.state) {
    case "waiting":
      return <span class="muted small">queued</span>;
    case "stopping":
      return (
        <span class="row muted small">
          <span class="spinner tiny-spinner" /> stopping
        </span>
      );
    case "failed":
      return <span class="small stop-bad foreign">{errorText(stop.error)}</span>;
    case "answered":
      return <Answer answer={stop.answer} />;
  }
}

function Answer({ answer }: { answer: StopResponse }) {
  if (answer.result === "already_gone") return <span class="muted small">had already ended</span>;
  if (answer.result === "stopped") return <span class="small stop-good">stopped in {duration(answer.took_ms)}</span>;
  return (
    <span class="small stop-bad foreign">
      still alive
      {answer.survivors.map((survivor) => (
        <span key={survivor.pid} class="survivor">
          {survivor.name} ({survivor.pid}): {survivor.why}
        </span>
      ))}
    </span>
  );
}

function StopOutcome({ stopping, outcome }: { stopping: Stopping; outcome: Outcome | null }) {
  const id = useId();
  const over = stopping.stops.filter(({ progress }) => progress.value.state === "answered" || progress.value.state === "failed").length;
  if (outcome) {
    return (
      <p class={`note ${outcome.tone}`} role="status">
        {outcome.text}
        {outcome.tone === "bad" && ". Kennel keeps trying to end them."}
      </p>
    );
  }
  return (
    <div class="stack-small">
      <span id={id} class="muted small">
        {over} of {stopping.stops.length} done
      </span>
      <progress aria-labelledby={id} max={stopping.stops.length} value={over} />
    </div>
  );
}

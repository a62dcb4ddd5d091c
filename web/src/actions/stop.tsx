import "./stop.css";

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";

import { told } from "../api/http.ts";
import type { SessionView, StopAnswer } from "../api/types.ts";
import { answers, usageOf, useUsage } from "../state/usage.ts";
import { Standing } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { counted, duration, shortened } from "../ui/format.ts";
import { say } from "../ui/toast.tsx";
import { called } from "../ui/words.ts";
import { GraceChoice } from "./grace.tsx";
import { canStop, type Grace, type Outcome, type Progress, stop, type Stopping } from "./stop.ts";

/** So many are named one by one. */
const NAMED = 100;

/** How many processes a session was last seen to have; none: nobody knows. */
function processesOf(session: SessionView): number | null {
  return usageOf(session.id).value.at(-1)?.processes ?? null;
}

/**
 * Says what a stop would end, stops it, and tells what came of it. The sessions are those that were given first; so is `first`, the
 * grace that is proposed.
 */
export function StopDialog({ sessions, close, first }: { sessions: readonly SessionView[]; close: () => void; first?: Grace }) {
  useUsage();
  const meant = useRef(sessions.filter(canStop)).current;
  const grace = useSignal<Grace>(first ?? { kind: "own" });
  const stopping = useSignal<Stopping | null>(null);
  const outcome = useSignal<Outcome | null>(null);
  const open = useRef(true);
  useEffect(() => () => void (open.current = false), []);

  const begin = () => {
    if (stopping.value) return;
    stopping.value = stop(meant.map((session) => ({ session, processes: processesOf(session) })), grace.value);
    void stopping.value.done.then((came) => {
      outcome.value = came;
      if (!open.current) say(came.tone, came.text);
    });
  };

  const title = meant.length === 1 ? `Stop ${shortened(called(meant[0]!))}` : `Stop ${counted(meant.length, "session")}`;
  if (meant.length === 0) {
    return (
      <Dialog title="Nothing to stop" close={close}>
        <p>{sessions.length === 1 ? "It has ended already." : "They have ended already."}</p>
        <div class="actions">
          <Button onClick={close}>Close</Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={title} close={close}>
      {!stopping.value && <WhatEnds sessions={meant} isNow={grace.value.kind === "now"} />}
      <ul class="stop-list" tabIndex={0} aria-label="Sessions to stop">
        {meant.slice(0, NAMED).map((session, at) => (
          <li key={session.id}>
            <span class="grow cut foreign">{shortened(called(session), 200)}</span>
            {stopping.value ? <How stop={stopping.value.stops[at]!.progress.value} /> : <Now session={session} />}
          </li>
        ))}
        {meant.length > NAMED && <li class="muted">and {(meant.length - NAMED).toLocaleString("en")} more</li>}
      </ul>
      {stopping.value ? (
        <Came stopping={stopping.value} outcome={outcome.value} />
      ) : (
        <GraceChoice sessions={meant} grace={grace} />
      )}
      <div class="actions">
        {stopping.value ? (
          <Button kind={outcome.value ? "primary" : "plain"} onClick={close}>
            {outcome.value ? "Close" : "Close, and let it go on"}
          </Button>
        ) : (
          <>
            <Button onClick={close}>Cancel</Button>
            <Button kind="danger primary" icon="stop" onClick={begin}>
              {meant.length === 1 ? "Stop it" : `Stop ${counted(meant.length, "session")}`}
            </Button>
          </>
        )}
      </div>
    </Dialog>
  );
}

function WhatEnds({ sessions, isNow }: { sessions: readonly SessionView[]; isNow: boolean }) {
  const sum = useComputed(() => {
    void answers.value;
    return sessions.reduce((all, session) => all + (processesOf(session) ?? 0), 0);
  });
  const adopted = sessions.filter((session) => session.started_by === "terminal").length;
  const again = sessions.filter((session) => session.spec.restart?.policy === "on_failure").length;
  const trees = sessions.some((session) => session.spec.worktree);
  const it = sessions.length === 1;
  return (
    <div class="stack-small">
      <p>
        {sum.value > 0 ? (
          <>
            <strong>{counted(sum.value, "process", "processes")}</strong> {sum.value === 1 ? "runs" : "run"} in{" "}
            {it ? "it" : "them"} now, and will end
          </>
        ) : (
          <>Every process of {it ? "it" : "them"} will end</>
        )}
        {": "}
        {isNow ? "a KILL to each, without a word." : "a TERM to each, and a KILL to what is left after the grace."}
      </p>
      {adopted > 0 && <p class="muted small">{it ? "It was adopted" : `${adopted} of them were adopted`}: only the one process is ended, not what it started.</p>}
      {again > 0 && <p class="muted small">{it ? "It is" : `${again} of them are`} launched again on failure; not after this.</p>}
      {trees && <p class="muted small">A worktree with anything of value in it is kept.</p>}
    </div>
  );
}

function Now({ session }: { session: SessionView }) {
  const processes = processesOf(session);
  return (
    <>
      {processes !== null && <span class="muted small">{counted(processes, "process", "processes")}</span>}
      <Standing session={session} />
    </>
  );
}

function How({ stop }: { stop: Progress }) {
  switch (stop.state) {
    case "waiting":
      return <span class="muted small">in line</span>;
    case "stopping":
      return (
        <span class="row muted small">
          <span class="spinner tiny-spinner" /> stopping
        </span>
      );
    case "failed":
      return <span class="small stop-bad foreign">{told(stop.error)}</span>;
    case "told":
      return <Answer answer={stop.answer} />;
  }
}

function Answer({ answer }: { answer: StopAnswer }) {
  if (answer.result === "already_gone") return <span class="muted small">was gone already</span>;
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

function Came({ stopping, outcome }: { stopping: Stopping; outcome: Outcome | null }) {
  const id = useId();
  const over = stopping.stops.filter(({ progress }) => progress.value.state === "told" || progress.value.state === "failed").length;
  if (outcome) {
    return (
      <p class={`note ${outcome.tone}`} role="status">
        {outcome.text}
        {outcome.tone === "bad" && ". Their keepers go on trying."}
      </p>
    );
  }
  return (
    <div class="stack-small">
      <span id={id} class="muted small">
        {over} of {stopping.stops.length} told
      </span>
      <progress aria-labelledby={id} max={stopping.stops.length} value={over} />
    </div>
  );
}

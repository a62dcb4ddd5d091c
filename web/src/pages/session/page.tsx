import "./session.css";

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { Refusal, segment, told } from "../../api/http.ts";
import type { InspectView, SessionView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { connection, isOver, launches } from "../../state/live.ts";
import { go, params } from "../../state/router.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { say } from "../../ui/toast.tsx";
import { called } from "../../ui/words.ts";
import { Head } from "./head.tsx";
import { Notices } from "./notices.tsx";
import { Parts } from "./parts.tsx";
import { useSamples } from "./resources/watch.ts";
import { isWide } from "./wide.ts";

const LOOK_MS = 1000;

/** One session: the path names it by its id, the id of one of its launches, or its name. */
export function SessionPage({ parts }: { parts: string[] }) {
  const reference = parts[0] ?? "";
  return <Named key={reference} reference={reference} />;
}

function Named({ reference }: { reference: string }) {
  const base = useRef<string | null>(null);
  const last = useRef<SessionView | null>(null);
  const isPolled = useSignal(false);
  const fetched = useFetched<InspectView>(`/v1/sessions/${segment(reference)}/inspect`, {
    // Before it is known which one that is, it may be any.
    when: (event) => event.session !== null && (base.current === null || event.session.split("_")[0] === base.current),
    ...(isPolled.value ? { every: LOOK_MS } : {}),
  });
  const inspected = fetched.value.value;
  if (inspected) {
    last.current = inspected.session;
    base.current = inspected.session.session;
  }
  // Another session may take its name: from now on it is known by its id.
  const id = inspected?.session.session ?? null;
  useEffect(() => {
    if (id !== null && reference.split("_")[0] !== id && location.pathname === `/sessions/${segment(reference)}`) {
      go(`/sessions/${segment(id)}${location.search}`, "replace");
    }
  }, [id]);
  const known = inspected && (launches.value.get(inspected.session.id) ?? inspected.session);
  const seesProcesses = isWide.value || params.value.get("tab") === "processes";
  // Processes come and go without an event, and so do places in line.
  const changesUntold = known !== null && !isOver(known) && (seesProcesses || known.phase === "queued");
  useEffect(() => void (isPolled.value = changesUntold), [changesUntold]);
  const isListed = !!last.current && launches.value.has(last.current.id);
  const wasListed = useRef(false);
  useEffect(() => {
    if (wasListed.current && !isListed) fetched.again();
    wasListed.current = isListed;
  }, [isListed]);
  const error = fetched.error.value;
  const isGone = error instanceof Refusal && error.status === 404;
  useEffect(() => {
    if (isGone && last.current && location.pathname.startsWith("/sessions/")) say("quiet", `${called(last.current)} was removed from the record`);
  }, [isGone]);
  if (inspected && !isGone) return <Shown key={inspected.session.session} inspected={inspected} error={error} />;
  return (
    <>
      <h1 class="hidden-visually">Session</h1>
      {isGone ? (
        <Gone reference={reference} before={last.current} />
      ) : error !== null ? (
        <Failed what="This session can't be shown" error={error} again={fetched.again} />
      ) : (
        <Loading what="Loading the session…" />
      )}
    </>
  );
}

function Shown({ inspected, error }: { inspected: InspectView; error: unknown }) {
  const latest = launches.value.get(inspected.session.id) ?? inspected.session;
  // The place in line is looked at more often here.
  const place = inspected.session.queue_place;
  const session = latest.phase === "queued" && place !== null && latest.queue_place !== place ? { ...latest, queue_place: place } : latest;
  const watched = useSamples(session, isWide.value || params.value.get("tab") === "resources");
  return (
    <div class="session-page">
      <Head session={session} />
      {error !== null && connection.value === "live" && (
        <p class="note warn" role="status">
          What is shown could not be had anew, and may be old: {told(error)}
        </p>
      )}
      <Notices session={session} inspected={inspected} />
      <Parts session={session} inspected={inspected} watched={watched} />
    </div>
  );
}

function Gone({ reference, before }: { reference: string; before: SessionView | null }) {
  return (
    <Empty icon="search" title={before ? "This session was removed" : "There is no such session"}>
      <p class="foreign">
        {before
          ? `${called(before)} had ended, and somebody has removed it from the record while you looked.`
          : `Nothing on record is called “${reference.slice(0, 80)}”. It may have been removed, or be in another home.`}
      </p>
      <a class="button" href="/sessions">
        All sessions
      </a>
    </Empty>
  );
}

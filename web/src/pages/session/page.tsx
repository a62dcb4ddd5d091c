import "./session.css";

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { ApiError, segment, errorText } from "../../api/http.ts";
import type { InspectView, SessionView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { connection, isOver, launches } from "../../state/live.ts";
import { go, params } from "../../state/router.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { showToast } from "../../ui/toast.tsx";
import { displayName } from "../../ui/labels.ts";
import { Head } from "./head.tsx";
import { Notices } from "./notices.tsx";
import { Parts } from "./tabs.tsx";
import { useSamples } from "./resources/watch.ts";
import { isWide } from "./is-wide.ts";

const POLL_MS = 1000;

/** One session. The path has its id, the id of one of its launches, or its name. */
export function SessionPage({ parts }: { parts: string[] }) {
  const reference = parts[0] ?? "";
  return <SessionByReference key={reference} reference={reference} />;
}

function SessionByReference({ reference }: { reference: string }) {
  const base = useRef<string | null>(null);
  const last = useRef<SessionView | null>(null);
  const isPolled = useSignal(false);
  const fetched = useFetched<InspectView>(`/v1/sessions/${segment(reference)}/inspect`, {
    // Until the session is loaded, any event may belong to it.
    when: (event) => event.session !== null && (base.current === null || event.session.split("_")[0] === base.current),
    ...(isPolled.value ? { every: POLL_MS } : {}),
  });
  const inspected = fetched.value.value;
  if (inspected) {
    last.current = inspected.session;
    base.current = inspected.session.session;
  }
  // Another session may take this name later, so continue with the id.
  const id = inspected?.session.session ?? null;
  useEffect(() => {
    if (id !== null && reference.split("_")[0] !== id && location.pathname === `/sessions/${segment(reference)}`) {
      go(`/sessions/${segment(id)}${location.search}`, "replace");
    }
  }, [id]);
  const known = inspected && (launches.value.get(inspected.session.id) ?? inspected.session);
  const seesProcesses = isWide.value || params.value.get("tab") === "processes";
  // Processes and queue positions change without an event.
  const needsPolling = known !== null && !isOver(known) && (seesProcesses || known.phase === "queued");
  useEffect(() => void (isPolled.value = needsPolling), [needsPolling]);
  const isListed = !!last.current && launches.value.has(last.current.id);
  const wasListed = useRef(false);
  useEffect(() => {
    if (wasListed.current && !isListed) fetched.refetch();
    wasListed.current = isListed;
  }, [isListed]);
  const error = fetched.error.value;
  const isGone = error instanceof ApiError && error.status === 404;
  useEffect(() => {
    if (isGone && last.current && location.pathname.startsWith("/sessions/")) showToast("quiet", `${displayName(last.current)} was removed`);
  }, [isGone]);
  if (inspected && !isGone) return <LoadedSession key={inspected.session.session} inspected={inspected} error={error} />;
  return (
    <>
      <h1 class="hidden-visually">Session</h1>
      {isGone ? (
        <Gone reference={reference} before={last.current} />
      ) : error !== null ? (
        <Failed what="Couldn’t load this session" error={error} retry={fetched.refetch} />
      ) : (
        <Loading what="Loading session…" />
      )}
    </>
  );
}

function LoadedSession({ inspected, error }: { inspected: InspectView; error: unknown }) {
  const latest = launches.value.get(inspected.session.id) ?? inspected.session;
  // The queue position is polled more often on this page.
  const position = inspected.session.queue_position;
  const session = latest.phase === "queued" && position !== null && latest.queue_position !== position ? { ...latest, queue_position: position } : latest;
  const watched = useSamples(session, isWide.value || params.value.get("tab") === "resources");
  return (
    <div class="session-page">
      <Head session={session} />
      {error !== null && connection.value === "live" && (
        <p class="note warn" role="status">
          Couldn’t refresh; this may be out of date: {errorText(error)}
        </p>
      )}
      <Notices session={session} inspected={inspected} />
      <Parts session={session} inspected={inspected} watched={watched} />
    </div>
  );
}

function Gone({ reference, before }: { reference: string; before: SessionView | null }) {
  return (
    <Empty icon="search" title={before ? "This session was removed" : "Session not found"}>
      <p class="foreign">
        {before
          ? `${displayName(before)} had ended and was removed while this page was open.`
          : `There is no session “${reference.slice(0, 80)}”. It may have been removed, or belong to another home.`}
      </p>
      <a class="button" href="/sessions">
        All sessions
      </a>
    </Empty>
  );
}

import "./answer.css";

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { get, segment, errorText } from "../api/http.ts";
import type { SessionView } from "../api/types.ts";
import { connection, isOver } from "../state/live.ts";
import { mayChange } from "../state/me.ts";
import { Age } from "../ui/age.tsx";
import { SessionStateBadge, VerdictBadge } from "../ui/badge.tsx";
import { Copy } from "../ui/copy.tsx";
import { duration, formatTime } from "../ui/format.ts";
import { attemptsOf } from "./attempts.ts";
import { Cancel } from "./cancel.tsx";
import type { Transcript } from "./transcript.ts";
import { EarlierAttempts, Outcome } from "./outcome.tsx";
import { Parts } from "./parts.tsx";
import { isZeroUsage, UsageLine, usageOf } from "./usage.tsx";
import { useTranscript } from "./use-transcript.ts";

interface Props {
  session: string;
  /** The prompt text, if it was sent from this page. The daemon does not store prompts. */
  prompt?: string | undefined;
  title?: string;
  /** Whether this is shown on the session’s own page, which already has a link and a stop button. */
  isAtSession?: boolean;
}

/** Shows a prompt live: the agent’s steps, its answer, and the outcome. */
export function Answer({ session: id, prompt, title, isAtSession }: Props) {
  const { transcript, isConnected, refused } = useTranscript(id);
  const attempts = attemptsOf(id);
  const session = useLatest(id, attempts);
  if (refused.value && transcript.value.verdict === null) {
    return (
      <div class="note warn" role="alert">
        <span class="foreign">{errorText(refused.value)}</span>
      </div>
    );
  }
  const over = transcript.value.verdict !== null;
  return (
    <article class="card answer" aria-label={`Prompt ${id}`} data-session={id} aria-busy={!over}>
      <header>
        <State transcript={transcript.value} session={session} isConnected={isConnected.value} />
        <span class="grow" />
        {!isAtSession && !over && session && mayChange.value && !isOver(session) && <Cancel session={session} />}
        {over && transcript.value.verdict?.answer && <Copy text={() => transcript.value.verdict?.answer ?? ""} label="Copy answer" />}
        {!isAtSession && (
          <a class="button plain compact" href={`/sessions/${segment(id)}`}>
            {title ?? "Session"}
          </a>
        )}
      </header>
      <div class="body stack">
        {prompt && <blockquote class="asked foreign">{prompt}</blockquote>}
        <EarlierAttempts attempts={attempts} />
        <Parts transcript={transcript.value} />
        <Outcome transcript={transcript.value} session={session} />
      </div>
      <footer class="small muted">
        {session && (
          <span title={`Sent at ${formatTime(session.created_at)}`}>
            {over && session.ended_at ? (
              `took ${duration(Date.parse(session.ended_at) - Date.parse(session.created_at))}`
            ) : (
              <>
                for <Age since={session.created_at} />
              </>
            )}
          </span>
        )}
        <Used transcript={transcript.value} attempts={attempts} />
        {transcript.value.conversation && <span class="cut foreign">conversation {transcript.value.conversation}</span>}
      </footer>
    </article>
  );
}

/** Returns the latest attempt, and fetches it if the session list does not have it yet. */
function useLatest(id: string, attempts: readonly SessionView[]): SessionView | null {
  const fetched = useSignal<SessionView | null>(null);
  const known = attempts.at(-1);
  useEffect(() => {
    if (known) return;
    const closing = new AbortController();
    get<SessionView>(`/v1/sessions/${segment(id)}`, closing.signal).then(
      (session) => void (fetched.value = session),
      // The answer stream reports the error.
      () => undefined,
    );
    return () => closing.abort();
  }, [id, known === undefined]);
  return known ?? fetched.value;
}

function State({ transcript, session, isConnected }: { transcript: Transcript; session: SessionView | null; isConnected: boolean }) {
  if (transcript.verdict) {
    return (
      <span role="status" class="row">
        <VerdictBadge kind={transcript.verdict.verdict} />
      </span>
    );
  }
  const text = !isConnected && connection.value !== "live" ? "The daemon is not responding; the agent keeps running" : activity(transcript, session);
  return (
    <span role="status" class="row">
      {session ? <SessionStateBadge session={session} /> : <span class="spinner small" />}
      <span class="small muted">{text}</span>
    </span>
  );
}

function activity(transcript: Transcript, session: SessionView | null): string {
  if (!session) return "";
  if (session.phase === "queued") return "Starts automatically";
  if (session.relaunch.relaunch === "pending") return "Retrying soon";
  if (session.phase === "stopping") return "Ending all processes";
  const last = transcript.parts.at(-1);
  if (last?.kind === "tool" && last.state === "began") return `Using ${last.name}`;
  if (last?.kind === "thinking") return "Thinking";
  if (last?.kind === "text") return "Writing";
  if (last?.kind === "retrying") return "The provider failed; the agent is retrying";
  return session.phase === "running" ? "Working" : "";
}

function Used({ transcript, attempts }: { transcript: Transcript; attempts: readonly SessionView[] }) {
  const sum = usageOf(attempts);
  const usage = transcript.verdict && !isZeroUsage(sum) ? sum : (transcript.usage ?? transcript.verdict?.usage);
  return usage && !isZeroUsage(usage) ? <UsageLine usage={usage} /> : null;
}

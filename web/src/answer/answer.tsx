import "./answer.css";

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { get, segment, told } from "../api/http.ts";
import type { SessionView } from "../api/types.ts";
import { connection, isOver } from "../state/live.ts";
import { mayChange } from "../state/me.ts";
import { Age } from "../ui/age.tsx";
import { Standing, VerdictBadge } from "../ui/badge.tsx";
import { Copy } from "../ui/copy.tsx";
import { duration, moment } from "../ui/format.ts";
import { attemptsOf } from "./attempts.ts";
import { Cancel } from "./cancel.tsx";
import type { Course } from "./course.ts";
import { FormerAttempts, Outcome } from "./outcome.tsx";
import { Parts } from "./parts.tsx";
import { isNothing, UsageLine, usageOf } from "./usage.tsx";
import { useCourse } from "./use-course.ts";

interface Props {
  session: string;
  /** Known to who has just written it. */
  prompt?: string | undefined;
  title?: string;
  /** Whether this is on the session's own page, which leads to it and can stop it. */
  isAtSession?: boolean;
}

/** A prompt, live: what its agent does, what it says, and what became of it. */
export function Answer({ session: id, prompt, title, isAtSession }: Props) {
  const { course, heard, refused } = useCourse(id);
  const attempts = attemptsOf(id);
  const session = useLatest(id, attempts);
  if (refused.value && course.value.verdict === null) {
    return (
      <div class="note warn" role="alert">
        <span class="foreign">{told(refused.value)}</span>
      </div>
    );
  }
  const over = course.value.verdict !== null;
  return (
    <article class="card answer" aria-label={`Prompt ${id}`} data-session={id} aria-busy={!over}>
      <header>
        <State course={course.value} session={session} heard={heard.value} />
        <span class="grow" />
        {!isAtSession && !over && session && mayChange.value && !isOver(session) && <Cancel session={session} />}
        {over && course.value.verdict?.answer && <Copy text={() => course.value.verdict?.answer ?? ""} label="Copy the answer" />}
        {!isAtSession && (
          <a class="button plain compact" href={`/sessions/${segment(id)}`}>
            {title ?? "Session"}
          </a>
        )}
      </header>
      <div class="body stack">
        {prompt && <blockquote class="asked foreign">{prompt}</blockquote>}
        <FormerAttempts attempts={attempts} />
        <Parts course={course.value} />
        <Outcome course={course.value} session={session} />
      </div>
      <footer class="small muted">
        {session && (
          <span title={`Asked at ${moment(session.created_at)}`}>
            {over && session.ended_at ? (
              `took ${duration(Date.parse(session.ended_at) - Date.parse(session.created_at))}`
            ) : (
              <>
                for <Age since={session.created_at} />
              </>
            )}
          </span>
        )}
        <Used course={course.value} attempts={attempts} />
        {course.value.conversation && <span class="cut foreign">conversation {course.value.conversation}</span>}
      </footer>
    </article>
  );
}

/** The latest attempt; asked for if it is not among those that are known. */
function useLatest(id: string, attempts: readonly SessionView[]): SessionView | null {
  const fetched = useSignal<SessionView | null>(null);
  const known = attempts.at(-1);
  useEffect(() => {
    if (known) return;
    const closing = new AbortController();
    get<SessionView>(`/v1/sessions/${segment(id)}`, closing.signal).then(
      (session) => void (fetched.value = session),
      // The stream of the answer tells the same.
      () => undefined,
    );
    return () => closing.abort();
  }, [id, known === undefined]);
  return known ?? fetched.value;
}

function State({ course, session, heard }: { course: Course; session: SessionView | null; heard: boolean }) {
  if (course.verdict) {
    return (
      <span role="status" class="row">
        <VerdictBadge kind={course.verdict.verdict} />
      </span>
    );
  }
  const word = !heard && connection.value !== "live" ? "The daemon does not answer; the agent goes on without it" : doing(course, session);
  return (
    <span role="status" class="row">
      {session ? <Standing session={session} /> : <span class="spinner small" />}
      <span class="small muted">{word}</span>
    </span>
  );
}

function doing(course: Course, session: SessionView | null): string {
  if (!session) return "";
  if (session.phase === "queued") return "It waits in line, and begins by itself";
  if (session.relaunch.relaunch === "pending") return "It is tried again after a pause";
  if (session.phase === "stopping") return "It is being ended, with all that it has started";
  const last = course.parts.at(-1);
  if (last?.kind === "tool" && last.state === "began") return `Uses ${last.name}`;
  if (last?.kind === "thinking") return "Thinks";
  if (last?.kind === "text") return "Writes";
  if (last?.kind === "retrying") return "Its provider failed; it tries again by itself";
  return session.phase === "running" ? "Works" : "";
}

function Used({ course, attempts }: { course: Course; attempts: readonly SessionView[] }) {
  const sum = usageOf(attempts);
  const usage = course.verdict && !isNothing(sum) ? sum : (course.usage ?? course.verdict?.usage);
  return usage && !isNothing(usage) ? <UsageLine usage={usage} /> : null;
}

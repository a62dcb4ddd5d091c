import { segment } from "../api/http.ts";
import type { EvidenceSource, SessionView, VerdictKind } from "../api/types.ts";
import { VerdictBadge } from "../ui/badge.tsx";
import { counted } from "../ui/format.ts";
import { because, exitText, owedText } from "../ui/words.ts";
import type { Course } from "./course.ts";

const SEEN: Record<EvidenceSource, string> = {
  result: "in the result that it told",
  stdout: "on its standard output",
  stderr: "on its standard error",
  exit: "by its exit",
  kennel: "by Kennel itself",
};

/** What a verdict means, and what helps. */
const MEANING: Partial<Record<VerdictKind, string>> = {
  auth: "The provider does not accept the login. Log the agent in on the machine, or see that it gets its HOME and keys by the environment.",
  stale_conversation: "The conversation is not there any more. A fresh one helps.",
  overloaded: "The provider has too much to do. It was tried again as often as it was allowed to.",
  rate_limited: "The provider was asked too much. It was tried again as often as it was allowed to.",
  server: "The provider failed. It was tried again as often as it was allowed to.",
  unreachable: "The provider can’t be reached from this machine.",
  untrusted_folder: "The agent wants to be told first that you trust the folder.",
  max_turns: "It took as many turns as it may.",
  refused_flags: "The agent does not understand its arguments.",
  crashed: "It ended without a result.",
  unknown: "Nobody can tell: the session’s output has all that it printed.",
  timed_out: "A limit of time ended it, with all that it had started.",
  cancelled: "It was stopped, and nothing of it is left.",
  killed: "Somebody else’s signal ended it.",
};

/** What became of it, and by what that is known. */
export function Outcome({ course, session }: { course: Course; session: SessionView | null }) {
  const told = course.verdict;
  if (!told) return null;
  const good = told.verdict === "succeeded";
  const tone = good ? "good" : told.verdict === "cancelled" ? "" : "bad";
  return (
    <div class={`note outcome ${tone}`} data-verdict={told.verdict}>
      <div class="stack tight">
        <p class="row wrap">
          <VerdictBadge kind={told.verdict} />
          {told.attempts > 1 && <span class="small muted">after {counted(told.attempts, "attempt")}</span>}
        </p>
        {!good && MEANING[told.verdict] && <p class="small">{MEANING[told.verdict]}</p>}
        <p class="small muted">
          Known {SEEN[told.source]}: <q class="foreign">{told.evidence.trim()}</q>
        </p>
        {!good && (told.reason || told.exit) && (
          <p class="small muted foreign">{[told.reason && because(told.reason), told.exit && exitText(told.exit)].filter(Boolean).join("; ")}</p>
        )}
        {told.owed.map((owed) => (
          <p class="small foreign" key={owedText(owed.what)}>
            Could not be removed so far: {owedText(owed.what)}{owed.why ? ` (${owed.why})` : ""}
          </p>
        ))}
        {!good && session && (
          <p class="small">
            <a href={`/sessions/${segment(session.session)}`}>All that it printed</a>
          </p>
        )}
      </div>
    </div>
  );
}

/** Attempts that came to nothing, and were followed by another. */
export function FormerAttempts({ attempts }: { attempts: readonly SessionView[] }) {
  const former = attempts.filter((attempt, at) => attempt.judged && (at < attempts.length - 1 || attempt.relaunch.relaunch === "pending"));
  if (former.length === 0) return null;
  return (
    <ol class="former small" aria-label="Former attempts">
      {former.map((attempt) => (
        <li key={attempt.id} class="row">
          <span class="muted">Attempt {attempt.attempt}</span>
          {attempt.judged && <VerdictBadge kind={attempt.judged.verdict.kind} />}
          <span class="foreign muted cut" title={attempt.judged?.verdict.evidence}>
            {attempt.judged?.verdict.evidence}
          </span>
        </li>
      ))}
    </ol>
  );
}

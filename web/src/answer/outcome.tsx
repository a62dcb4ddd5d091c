import { segment } from "../api/http.ts";
import type { EvidenceSource, SessionView, VerdictKind } from "../api/types.ts";
import { VerdictBadge } from "../ui/badge.tsx";
import { pluralize } from "../ui/format.ts";
import { reasonText, exitText, cleanupText } from "../ui/labels.ts";
import type { Transcript } from "./transcript.ts";

const SOURCE: Record<EvidenceSource, string> = {
  result: "agent result",
  stdout: "standard output",
  stderr: "standard error",
  exit: "exit status",
  kennel: "Kennel",
};

/** Explains a verdict and what to do about it. */
const MEANING: Partial<Record<VerdictKind, string>> = {
  auth: "The provider rejected the credentials. Sign the agent in on this machine, or pass its HOME and API keys in the environment.",
  stale_conversation: "The conversation no longer exists. Start a new one.",
  overloaded: "The provider is overloaded. Send the prompt again later.",
  rate_limited: "The provider’s rate limit was reached. Send the prompt again later.",
  server: "The provider failed. Send the prompt again later.",
  unreachable: "The provider is not reachable from this machine.",
  untrusted_folder: "The agent needs you to trust this folder first.",
  max_turns: "The agent reached its maximum number of turns.",
  refused_flags: "The agent rejected its arguments.",
  crashed: "The agent ended without a result.",
  unknown: "The outcome could not be determined. See the session’s output.",
  timed_out: "The time limit was reached, and every process was ended.",
  cancelled: "The prompt was stopped, and no process is left.",
  killed: "A signal that Kennel did not send ended the agent.",
};

/** Shows the verdict and the evidence for it. */
export function Outcome({ transcript, session }: { transcript: Transcript; session: SessionView | null }) {
  const answer = transcript.verdict;
  if (!answer) return null;
  const good = answer.verdict === "succeeded";
  const tone = good ? "good" : answer.verdict === "cancelled" ? "" : "bad";
  return (
    <div class={`note outcome ${tone}`} data-verdict={answer.verdict}>
      <div class="stack tight">
        <p class="row wrap">
          <VerdictBadge kind={answer.verdict} />
          {answer.attempts > 1 && <span class="small muted">after {pluralize(answer.attempts, "attempt")}</span>}
        </p>
        {!good && MEANING[answer.verdict] && <p class="small">{MEANING[answer.verdict]}</p>}
        <p class="small muted">
          Evidence ({SOURCE[answer.source]}): <q class="foreign">{answer.evidence.trim()}</q>
        </p>
        {!good && (answer.reason || answer.exit) && (
          <p class="small muted foreign">{[answer.reason && reasonText(answer.reason), answer.exit && exitText(answer.exit)].filter(Boolean).join("; ")}</p>
        )}
        {answer.owed.map((owed) => (
          <p class="small foreign" key={cleanupText(owed.what)}>
            Couldn’t clean up: {cleanupText(owed.what)}{owed.why ? ` (${owed.why})` : ""}
          </p>
        ))}
        {!good && session && (
          <p class="small">
            <a href={`/sessions/${segment(session.session)}`}>Show output</a>
          </p>
        )}
      </div>
    </div>
  );
}

/** Lists failed attempts that were retried. */
export function EarlierAttempts({ attempts }: { attempts: readonly SessionView[] }) {
  const earlier = attempts.filter((attempt, at) => attempt.judged && (at < attempts.length - 1 || attempt.relaunch.relaunch === "pending"));
  if (earlier.length === 0) return null;
  return (
    <ol class="former small" aria-label="Earlier attempts">
      {earlier.map((attempt) => (
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

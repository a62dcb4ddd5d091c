import { Answer as Transcript } from "../../../answer/answer.tsx";
import { segment } from "../../../api/http.ts";
import type { AnswerView, SessionView } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { isOver, launchReference } from "../../../state/live.ts";
import { VerdictBadge } from "../../../ui/badge.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { cost, pluralize } from "../../../ui/format.ts";
import { Prose } from "../../../ui/prose.tsx";
import { Failed, Loading } from "../../../ui/states.tsx";
import { sourceText } from "./labels.ts";

/** Shows the answer of a prompt: live for the latest launch, recorded for ended ones. */
export function Answer({ session }: { session: SessionView }) {
  if (session.attempt < session.launches || (isOver(session) && session.judged)) return <RecordedAnswer key={session.id} session={session} />;
  return <Transcript key={session.session} session={session.session} isAtSession />;
}

function RecordedAnswer({ session }: { session: SessionView }) {
  const { value, error, refetch } = useFetched<AnswerView>(`/v1/sessions/${segment(launchReference(session.id))}/answer`, {
    when: (event) => event.kind === "judged",
  });
  const answer = value.value;
  if (!answer) {
    return error.value ? <Failed what="Couldn’t load the answer" error={error.value} retry={refetch} /> : <Loading what="Loading answer…" />;
  }
  return (
    <section class="card" aria-labelledby="answer-title">
      <header>
        <h2 id="answer-title">Answer</h2>
        <VerdictBadge kind={answer.verdict} />
        <span class="grow" />
        {answer.answer && <Copy text={answer.answer} label="Copy answer" />}
      </header>
      {answer.answer ? <div class="body"><Prose text={answer.answer} /></div> : <p class="body muted">The answer is empty.</p>}
      <dl class="facts body ruled">
        <dt>Evidence</dt>
        <dd>
          <span class="foreign">{answer.evidence.slice(0, 1000)}</span> <span class="muted small">({sourceText(answer.source)})</span>
        </dd>
        <dt>Cost</dt>
        <dd>
          {answer.usage.cost_micros > 0 ? cost(answer.usage.cost_micros) : "not reported"}{" "}
          <span class="muted small">
            {answer.usage.input_tokens.toLocaleString("en")} input tokens, {answer.usage.cached_tokens.toLocaleString("en")} cached,{" "}
            {answer.usage.output_tokens.toLocaleString("en")} output
          </span>
        </dd>
        <dt>Activity</dt>
        <dd>
          {pluralize(answer.tools, "tool call")}{answer.turns !== null && `, ${pluralize(answer.turns, "turn")}`}, {pluralize(answer.attempts, "attempt")}
        </dd>
        {answer.conversation && (
          <>
            <dt>Conversation</dt>
            <dd class="row">
              <code class="foreign cut">{answer.conversation}</code>
              <Copy text={answer.conversation} label="Copy conversation ID" />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

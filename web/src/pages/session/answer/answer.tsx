import { Answer as Course } from "../../../answer/answer.tsx";
import { segment } from "../../../api/http.ts";
import type { AnswerView, SessionView } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { isOver, launchReference } from "../../../state/live.ts";
import { VerdictBadge } from "../../../ui/badge.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { cost, counted } from "../../../ui/format.ts";
import { Prose } from "../../../ui/prose.tsx";
import { Failed, Loading } from "../../../ui/states.tsx";
import { sourceText } from "./words.ts";

/** What the agent does with a prompt, and what became of it; of a former launch, what became of that. */
export function Answer({ session }: { session: SessionView }) {
  if (session.attempt < session.launches || (isOver(session) && session.judged)) return <Told key={session.id} session={session} />;
  return <Course key={session.session} session={session.session} isAtSession />;
}

function Told({ session }: { session: SessionView }) {
  const { value, error, again } = useFetched<AnswerView>(`/v1/sessions/${segment(launchReference(session.id))}/answer`, {
    when: (event) => event.kind === "judged",
  });
  const answer = value.value;
  if (!answer) {
    return error.value ? <Failed what="The answer can't be had" error={error.value} again={again} /> : <Loading what="Loading the answer…" />;
  }
  return (
    <section class="card" aria-labelledby="answer-title">
      <header>
        <h2 id="answer-title">Answer</h2>
        <VerdictBadge kind={answer.verdict} />
        <span class="grow" />
        {answer.answer && <Copy text={answer.answer} label="Copy the answer" />}
      </header>
      {answer.answer ? <div class="body"><Prose text={answer.answer} /></div> : <p class="body muted">It answered nothing.</p>}
      <dl class="facts body ruled">
        <dt>Evidence</dt>
        <dd>
          <span class="foreign">{answer.evidence.slice(0, 1000)}</span> <span class="muted small">({sourceText(answer.source)})</span>
        </dd>
        <dt>Cost</dt>
        <dd>
          {cost(answer.usage.cost_micros)}{" "}
          <span class="muted small">
            {answer.usage.input_tokens.toLocaleString("en")} tokens read, {answer.usage.cached_tokens.toLocaleString("en")} from a cache,{" "}
            {answer.usage.output_tokens.toLocaleString("en")} written
          </span>
        </dd>
        <dt>Work</dt>
        <dd>
          {counted(answer.tools, "tool")} run{answer.turns !== null && `, ${counted(answer.turns, "turn")}`}, {counted(answer.attempts, "attempt")}
        </dd>
        {answer.conversation && (
          <>
            <dt>Conversation</dt>
            <dd class="row">
              <code class="foreign cut">{answer.conversation}</code>
              <Copy text={answer.conversation} label="Copy the conversation's id" />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

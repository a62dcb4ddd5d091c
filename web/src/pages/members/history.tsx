import { useSignal } from "@preact/signals";

import { attemptsOf } from "../../answer/attempts.ts";
import { isZeroUsage, tokens, usageOf } from "../../answer/usage.tsx";
import { segment } from "../../api/http.ts";
import type { SessionView } from "../../api/types.ts";
import { Age } from "../../ui/age.tsx";
import { SessionStateBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { cost, duration } from "../../ui/format.ts";

const AT_ONCE = 25;

/** Lists ended prompts, newest first. */
export function History({ prompts, open }: { prompts: SessionView[]; open: (session: string) => void }) {
  const count = useSignal(AT_ONCE);
  if (prompts.length === 0) return null;
  return (
    <section class="card" aria-label="Previous prompts">
      <header>
        <h2>Previous prompts</h2>
        <span class="muted small">{prompts.length.toLocaleString("en")}</span>
      </header>
      <ul class="history">
        {prompts.slice(0, count.value).map((session) => (
          <HistoryRow key={session.session} session={session} open={open} />
        ))}
      </ul>
      {prompts.length > count.value && (
        <div class="body">
          <Button onClick={() => void (count.value += AT_ONCE)}>Show more</Button>
        </div>
      )}
    </section>
  );
}

function HistoryRow({ session, open }: { session: SessionView; open: (session: string) => void }) {
  const usage = usageOf(attemptsOf(session.session));
  const chat = session.spec.agent?.interactive;
  return (
    <li>
      <span class="verdict">{chat ? <span class="badge bare">chat</span> : <SessionStateBadge session={session} />}</span>
      <span class="evidence foreign cut small muted" title={session.judged?.verdict.evidence}>
        {session.judged && session.judged.verdict.kind !== "succeeded" ? session.judged.verdict.evidence : ""}
        {session.attempt > 1 ? ` (${session.attempt} attempts)` : ""}
      </span>
      <span class="number small muted">{isZeroUsage(usage) ? "" : `${tokens(usage.input_tokens + usage.cached_tokens)} in · ${tokens(usage.output_tokens)} out`}</span>
      <span class="number small">{usage.cost_micros > 0 ? cost(usage.cost_micros) : ""}</span>
      <span class="number small muted">
        {took(session)}
      </span>
      <span class="number small muted">
        <Age since={session.created_at} /> ago
      </span>
      <span class="row">
        {!chat && (
          <Button compact label={`Show the answer of ${session.session}`} onClick={() => open(session.session)}>
            Answer
          </Button>
        )}
        <a class="button plain compact" href={`/sessions/${segment(session.session)}`} aria-label={`Open session ${session.session}`}>
          Session
        </a>
      </span>
    </li>
  );
}

function took(session: SessionView): string {
  if (session.started_at === null || session.ended_at === null) return "did not start";
  return `took ${duration(Date.parse(session.ended_at) - Date.parse(session.started_at))}`;
}

import { isZeroUsage, UsageLine } from "../../answer/usage.tsx";
import { segment } from "../../api/http.ts";
import type { PlanAgentView, SessionView } from "../../api/types.ts";
import { sessions } from "../../state/live.ts";
import { Age } from "../../ui/age.tsx";
import { Badge, VerdictBadge } from "../../ui/badge.tsx";
import { duration } from "../../ui/format.ts";
import { AGENT_LABELS, why } from "./labels.ts";

/** One agent of a plan. */
export function AgentCard({ agent }: { agent: PlanAgentView }) {
  const session = agent.session === null ? undefined : sessions.value.find((it) => it.session === agent.session?.split("_")[0]);
  const failure = agent.state !== "succeeded" ? session?.judged?.verdict : undefined;
  // Show the verdict only if it differs from the state.
  const verdict = agent.verdict && agent.verdict !== agent.state ? agent.verdict : null;
  return (
    <li class={`card plan-agent ${agent.state}`} data-agent={agent.name}>
      <div class="row">
        <h3 class="grow cut foreign">{agent.name}</h3>
        {agent.state === "running" && <span class="spinner small" />}
        <Badge {...AGENT_LABELS[agent.state]} />
      </div>
      <p class="row wrap small muted">
        <span class="foreign">{agent.member ? <a href={`/members/${segment(agent.member)}`}>{agent.member}</a> : agent.agent}</span>
        {verdict && <VerdictBadge kind={verdict} />}
        {agent.asks > 1 && <span>{agent.asks} attempts</span>}
      </p>
      {why(agent) && <p class="small foreign">{why(agent)}</p>}
      {failure && failure.kind !== "cancelled" && failure.evidence.trim() !== agent.why && (
        <p class="small muted evidence">
          <q class="foreign">{failure.evidence.trim()}</q>
        </p>
      )}
      {(agent.session || !isZeroUsage(agent.usage)) && (
        <p class="row wrap small muted foot">
          {session && <Took session={session} />}
          {!isZeroUsage(agent.usage) && <UsageLine usage={agent.usage} />}
          <span class="grow" />
          {agent.session && (
            <span class="row">
              <a href={`/members?prompt=${segment(agent.session)}`} aria-label={`Answer of ${agent.name}`}>
                Answer
              </a>
              <a href={`/sessions/${segment(agent.session)}`} aria-label={`Session of ${agent.name}`}>
                Session
              </a>
            </span>
          )}
        </p>
      )}
    </li>
  );
}

function Took({ session }: { session: SessionView }) {
  if (session.started_at === null) return null;
  if (session.ended_at === null) return <Age since={session.started_at} />;
  return <span>{duration(Date.parse(session.ended_at) - Date.parse(session.started_at))}</span>;
}

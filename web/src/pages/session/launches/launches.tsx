import { segment } from "../../../api/http.ts";
import type { InspectView, Judged, SessionView } from "../../../api/types.ts";
import { launchReference } from "../../../state/live.ts";
import { Age } from "../../../ui/age.tsx";
import { SessionStateBadge, VerdictBadge } from "../../../ui/badge.tsx";
import { cost, pluralize, duration, formatTime } from "../../../ui/format.ts";
import { reasonText, exitText } from "../../../ui/labels.ts";
import { sourceText } from "../answer/labels.ts";

/** Lists every launch with its outcome and verdict. */
export function Launches({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  const isPrompt = !!session.spec.agent && !session.spec.agent.interactive;
  const launches = [...inspected.launches].reverse();
  return (
    <section class="card" aria-labelledby="launches-title">
      <header>
        <h2 id="launches-title" class="grow">
          Launches
        </h2>
        <span class="muted small">{pluralize(launches.length, "launch", "launches")}</span>
      </header>
      <table class="plain-table stacked">
        <thead>
          <tr>
            <th scope="col">Launch</th>
            <th scope="col">Started</th>
            <th scope="col">Duration</th>
            <th scope="col">Outcome</th>
            {isPrompt && <th scope="col">Verdict</th>}
            {isPrompt && <th scope="col">Usage</th>}
          </tr>
        </thead>
        <tbody>
          {launches.map((launch) => (
            <tr key={launch.id} aria-current={launch.id === session.id ? "true" : undefined} data-attempt={launch.attempt}>
              <th scope="row" data-label="Launch">
                {launch.id === session.id ? (
                  <span>
                    {launch.attempt} <span class="muted">(shown)</span>
                  </span>
                ) : (
                  <a href={`/sessions/${segment(launch.attempt === launch.launches ? launch.session : launchReference(launch.id))}`}>{launch.attempt}</a>
                )}
              </th>
              <td data-label="Started" title={launch.created_at}>
                {formatTime(launch.started_at ?? launch.created_at)}
              </td>
              <td data-label="Duration">
                {launch.ended_at ? (
                  duration(Date.parse(launch.ended_at) - Date.parse(launch.started_at ?? launch.created_at))
                ) : (
                  <Age since={launch.started_at ?? launch.created_at} />
                )}
              </td>
              <td data-label="Outcome">
                <End launch={launch} />
              </td>
              {isPrompt && <td data-label="Verdict">{launch.judged ? <Verdict judged={launch.judged} /> : <span class="muted">none yet</span>}</td>}
              {isPrompt && <td data-label="Usage">{launch.judged && <Used judged={launch.judged} />}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function End({ launch }: { launch: SessionView }) {
  if (!launch.reason && !launch.exit) return <SessionStateBadge session={launch} />;
  return (
    <div>
      {launch.exit && <div>{exitText(launch.exit)}</div>}
      {launch.reason && <div class="muted small foreign">{reasonText(launch.reason)}</div>}
    </div>
  );
}

function Verdict({ judged }: { judged: Judged }) {
  return (
    <div class="stack tight">
      <span>
        <VerdictBadge kind={judged.verdict.kind} />
      </span>
      <span class="small foreign">{judged.verdict.evidence.slice(0, 300)}</span>
      <span class="muted tiny">{sourceText(judged.verdict.source)}</span>
    </div>
  );
}

function Used({ judged }: { judged: Judged }) {
  const { usage, tools, turns } = judged;
  return (
    <div class="small">
      {usage && (
        <div>
          {usage.cost_micros > 0 && cost(usage.cost_micros)} <span class="muted">{(usage.input_tokens + usage.output_tokens).toLocaleString("en")} tokens</span>
        </div>
      )}
      <div class="muted">
        {pluralize(tools ?? 0, "tool call")}
        {turns ? `, ${pluralize(turns, "turn")}` : ""}
      </div>
    </div>
  );
}

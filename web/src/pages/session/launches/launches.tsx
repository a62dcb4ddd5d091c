import { segment } from "../../../api/http.ts";
import type { InspectView, Judged, SessionView } from "../../../api/types.ts";
import { launchReference } from "../../../state/live.ts";
import { Age } from "../../../ui/age.tsx";
import { Standing, VerdictBadge } from "../../../ui/badge.tsx";
import { cost, counted, moment } from "../../../ui/format.ts";
import { because, exitText } from "../../../ui/words.ts";
import { sourceText } from "../answer/words.ts";

/** Every launch, how it ended, and what was made of that. */
export function Launches({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  const isPrompt = !!session.spec.agent && !session.spec.agent.interactive;
  const launches = [...inspected.launches].reverse();
  return (
    <section class="card" aria-labelledby="launches-title">
      <header>
        <h2 id="launches-title" class="grow">
          Launches
        </h2>
        <span class="muted small">{counted(launches.length, "attempt")}</span>
      </header>
      <table class="plain-table stacked">
        <thead>
          <tr>
            <th scope="col">Attempt</th>
            <th scope="col">Began</th>
            <th scope="col">Took</th>
            <th scope="col">Ended</th>
            {isPrompt && <th scope="col">Verdict</th>}
            {isPrompt && <th scope="col">Used</th>}
          </tr>
        </thead>
        <tbody>
          {launches.map((launch) => (
            <tr key={launch.id} aria-current={launch.id === session.id ? "true" : undefined} data-attempt={launch.attempt}>
              <th scope="row" data-label="Attempt">
                {launch.id === session.id ? (
                  <>
                    {launch.attempt} <span class="muted">(shown)</span>
                  </>
                ) : (
                  <a href={`/sessions/${segment(launchReference(launch.id))}`}>{launch.attempt}</a>
                )}
              </th>
              <td data-label="Began" title={launch.created_at}>
                {moment(launch.started_at ?? launch.created_at)}
              </td>
              <td data-label="Took">
                <Age since={launch.started_at ?? launch.created_at} until={launch.ended_at} />
              </td>
              <td data-label="Ended">
                <End launch={launch} />
              </td>
              {isPrompt && <td data-label="Verdict">{launch.judged ? <Verdict judged={launch.judged} /> : <span class="muted">not judged</span>}</td>}
              {isPrompt && <td data-label="Used">{launch.judged && <Used judged={launch.judged} />}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function End({ launch }: { launch: SessionView }) {
  if (!launch.reason && !launch.exit) return <Standing session={launch} />;
  return (
    <div>
      {launch.exit && <div>{exitText(launch.exit)}</div>}
      {launch.reason && <div class="muted small foreign">{because(launch.reason)}</div>}
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
          {cost(usage.cost_micros)} <span class="muted">{(usage.input_tokens + usage.output_tokens).toLocaleString("en")} tokens</span>
        </div>
      )}
      <div class="muted">
        {counted(tools ?? 0, "tool")}
        {turns ? `, ${counted(turns, "turn")}` : ""}
      </div>
    </div>
  );
}

import { isNothing, UsageLine } from "../../answer/usage.tsx";
import { segment } from "../../api/http.ts";
import type { PlanView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { Age } from "../../ui/age.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Copy } from "../../ui/copy.tsx";
import { duration, moment } from "../../ui/format.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { Bar } from "./bar.tsx";
import { AGAIN_MS, concernsPlans } from "./plans.ts";
import { isLive, PLAN_WORDS, progress } from "./words.ts";

const EXAMPLE = "kennel plan run FILE";

export function PlanList() {
  const { value, error, again } = useFetched<PlanView[]>("/v1/plans", { when: concernsPlans, every: 5 * AGAIN_MS });
  const plans = value.value && [...value.value].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  return (
    <>
      <div class="page-head">
        <h1>Plans</h1>
        {plans && plans.length > 0 && <span class="muted">{plans.length}</span>}
      </div>
      {plans === null ? (
        error.value ? (
          <Failed what="The plans can’t be had" error={error.value} again={again} />
        ) : (
          <Loading what="Loading the plans…" />
        )
      ) : plans.length === 0 ? (
        <Empty icon="plans" title="No plan was run yet">
          <p>A plan is several agents with one cancel: stages, one after the other, and the agents of a stage at the same time. It is written in a file, and run in a shell:</p>
          <p class="row">
            <code>{EXAMPLE}</code>
            <Copy text={EXAMPLE} label="Copy the command" />
          </p>
          <p class="small">
            <code>docs/plans/research.toml</code> is one to start from. It is seen here as it goes.
          </p>
        </Empty>
      ) : (
        <ul class="card plan-list">
          {plans.map((plan) => (
            <Line key={plan.id} plan={plan} />
          ))}
        </ul>
      )}
    </>
  );
}

function Line({ plan }: { plan: PlanView }) {
  const { done, of } = progress(plan);
  return (
    <li data-plan={plan.id}>
      <span class="name">
        <a class="foreign" href={`/plans/${segment(plan.id)}`}>
          {plan.name}
        </a>
        <span class="tiny muted mono">{plan.id}</span>
      </span>
      <span>
        <Badge {...PLAN_WORDS[plan.state]} />
      </span>
      <span class="progress">
        <Bar plan={plan} />
        <span class="small muted">
          {done} of {of}
        </span>
      </span>
      <span class="small muted" title={moment(plan.created_at)}>
        <Age since={plan.created_at} /> ago
      </span>
      <span class="small muted">{isLive(plan) || !plan.ended_at ? <Running since={plan.created_at} /> : `took ${duration(Date.parse(plan.ended_at) - Date.parse(plan.created_at))}`}</span>
      <span class="small muted used">
        {isNothing(plan.usage) ? null : <UsageLine usage={plan.usage} />}
        {plan.why && plan.state !== "succeeded" && <span class="cut foreign">{plan.why}</span>}
      </span>
    </li>
  );
}

function Running({ since }: { since: string }) {
  return (
    <>
      for <Age since={since} />
    </>
  );
}

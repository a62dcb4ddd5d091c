import { isZeroUsage, UsageLine } from "../../answer/usage.tsx";
import { segment } from "../../api/http.ts";
import type { PlanView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { Age } from "../../ui/age.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Copy } from "../../ui/copy.tsx";
import { duration, formatTime } from "../../ui/format.ts";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { Bar } from "./bar.tsx";
import { POLL_MS, affectsPlans } from "./plans.ts";
import { isLive, PLAN_LABELS, progress } from "./labels.ts";

const EXAMPLE = "kennel plan run FILE";

export function PlanList() {
  const { value, error, refetch } = useFetched<PlanView[]>("/v1/plans", { when: affectsPlans, every: 5 * POLL_MS });
  const plans = value.value && [...value.value].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  return (
    <>
      <div class="page-head">
        <h1>Plans</h1>
        {plans && plans.length > 0 && <span class="muted">{plans.length}</span>}
      </div>
      {plans === null ? (
        error.value ? (
          <Failed what="Couldn’t load plans" error={error.value} retry={refetch} />
        ) : (
          <Loading what="Loading plans…" />
        )
      ) : plans.length === 0 ? (
        <Empty icon="plans" title="No plans yet">
          <p>A plan runs several agents that can be cancelled together. Its stages run one after the other, and the agents of a stage run at the same time. Write a plan in a file and run it from the command line:</p>
          <p class="row">
            <code>{EXAMPLE}</code>
            <Copy text={EXAMPLE} label="Copy command" />
          </p>
          <p class="small">
            See <code>docs/plans/research.toml</code> for an example. Running plans appear here.
          </p>
        </Empty>
      ) : (
        <ul class="card plan-list">
          {plans.map((plan) => (
            <PlanRow key={plan.id} plan={plan} />
          ))}
        </ul>
      )}
    </>
  );
}

function PlanRow({ plan }: { plan: PlanView }) {
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
        <Badge {...PLAN_LABELS[plan.state]} />
      </span>
      <span class="progress">
        <Bar plan={plan} />
        <span class="small muted">
          {done} of {of}
        </span>
      </span>
      <span class="small muted" title={formatTime(plan.created_at)}>
        <Age since={plan.created_at} /> ago
      </span>
      <span class="small muted">{isLive(plan) || !plan.ended_at ? <Running since={plan.created_at} /> : `took ${duration(Date.parse(plan.ended_at) - Date.parse(plan.created_at))}`}</span>
      <span class="small muted used">
        {isZeroUsage(plan.usage) ? null : <UsageLine usage={plan.usage} />}
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

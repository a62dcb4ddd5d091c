import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

import { isZeroUsage, UsageLine } from "../../answer/usage.tsx";
import { ApiError, segment } from "../../api/http.ts";
import type { PlanView, StageView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { mayChange } from "../../state/me.ts";
import { Age } from "../../ui/age.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { duration, formatTime } from "../../ui/format.ts";
import { Icon } from "../../ui/icons.tsx";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { AgentCard } from "./agent-card.tsx";
import { Bar } from "./bar.tsx";
import { CancelPlan } from "./cancel.tsx";
import { POLL_MS, affectsPlans } from "./plans.ts";
import { ResumePlan } from "./resume.tsx";
import { isLive, notDone, PLAN_LABELS, progress } from "./labels.ts";

/** One plan: its stages side by side, with a card for each agent. */
export function PlanBoard({ id }: { id: string }) {
  const running = useSignal(true);
  const { value, error, refetch } = useFetched<PlanView>(`/v1/plans/${segment(id)}`, {
    when: affectsPlans,
    ...(running.value ? { every: POLL_MS } : {}),
  });
  const open = useSignal<"cancel" | "resume" | null>(null);
  const close = () => void (open.value = null);
  const plan = value.value;
  if (plan && running.value !== isLive(plan)) running.value = isLive(plan);
  if (!plan) {
    const gone = error.value instanceof ApiError && error.value.status === 404;
    return (
      <>
        <Head title={id} />
        {gone ? (
          <Empty icon="plans" title={`No plan with ID ${id}`}>
            <p>
              It may have been removed. <a href="/plans">All plans</a>
            </p>
          </Empty>
        ) : error.value ? (
          <Failed what="Couldn’t load the plan" error={error.value} retry={refetch} />
        ) : (
          <Loading what="Loading plan…" />
        )}
      </>
    );
  }
  return (
    <>
      <Head title={plan.name}>
        <Badge {...PLAN_LABELS[plan.state]} />
        <span class="grow" />
        {mayChange.value && isLive(plan) && (
          <Button kind="danger primary" icon="stop" onClick={() => void (open.value = "cancel")}>
            Cancel…
          </Button>
        )}
        {mayChange.value && !isLive(plan) && notDone(plan).length > 0 && (
          <Button kind="primary" icon="play" onClick={() => void (open.value = "resume")}>
            Resume…
          </Button>
        )}
      </Head>
      <Summary plan={plan} />
      <ol class="plan-board">
        {plan.stages.map((stage, at) => (
          <Stage key={stage.name} stage={stage} number={at + 1} />
        ))}
      </ol>
      {open.value === "cancel" && <CancelPlan plan={plan} close={close} changed={refetch} />}
      {open.value === "resume" && <ResumePlan plan={plan} close={close} changed={refetch} />}
    </>
  );
}

function Head({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="page-head">
      <a class="button plain icon-only" href="/plans" aria-label="All plans" title="All plans">
        <Icon name="left" />
      </a>
      <h1 class="foreign">{title}</h1>
      {children}
    </div>
  );
}

function Summary({ plan }: { plan: PlanView }) {
  const { done, of } = progress(plan);
  const over = !isLive(plan) && plan.ended_at;
  return (
    <section class="card plan-summary" aria-label="Progress">
      <Bar plan={plan} />
      <p class="row wrap small muted" role="status">
        <strong>
          {done} of {of} agents done
        </strong>
        <span title={`Started at ${formatTime(plan.created_at)}`}>
          {over ? `took ${duration(Date.parse(over) - Date.parse(plan.created_at))}` : "for "}
          {!over && <Age since={plan.created_at} />}
        </span>
        {!isZeroUsage(plan.usage) && <UsageLine usage={plan.usage} />}
        <span class="mono">{plan.id}</span>
      </p>
      {plan.why && plan.state !== "succeeded" && <p class={`note ${plan.state === "failed" || plan.state === "timed_out" ? "bad" : ""} foreign`}>{plan.why}</p>}
    </section>
  );
}

function Stage({ stage, number }: { stage: StageView; number: number }) {
  const done = stage.agents.filter(({ state }) => state === "succeeded").length;
  return (
    <li class="plan-stage" data-stage={stage.name}>
      <h2 class="row">
        <span class="muted">{number}</span>
        <span class="grow cut foreign">{stage.name}</span>
        <span class="small muted">
          {done} of {stage.agents.length}
          {stage.need !== null && `, ${stage.need} needed`}
        </span>
      </h2>
      <ul class="stack">
        {stage.agents.map((agent) => (
          <AgentCard key={agent.name} agent={agent} />
        ))}
      </ul>
    </li>
  );
}

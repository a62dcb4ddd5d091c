import type { PlanView } from "../../api/types.ts";
import { agentsOf, progress } from "./labels.ts";

/** A progress bar with one segment per agent. */
export function Bar({ plan }: { plan: PlanView }) {
  const { done, of } = progress(plan);
  return (
    <div class="plan-bar" role="progressbar" aria-label={`${plan.name}: agents done`} aria-valuemin={0} aria-valuemax={of} aria-valuenow={done} aria-valuetext={`${done} of ${of} agents done`}>
      {agentsOf(plan).map((agent, at) => (
        <span key={at} class={agent.state} />
      ))}
    </div>
  );
}

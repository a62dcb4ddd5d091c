import type { PlanView } from "../../api/types.ts";
import { agentsOf, progress } from "./words.ts";

/** How far a plan has come, an agent a piece. */
export function Bar({ plan }: { plan: PlanView }) {
  const { done, of } = progress(plan);
  return (
    <div class="plan-bar" role="progressbar" aria-label={`${plan.name}: agents that have answered`} aria-valuemin={0} aria-valuemax={of} aria-valuenow={done} aria-valuetext={`${done} of ${of} agents have answered`}>
      {agentsOf(plan).map((agent, at) => (
        <span key={at} class={agent.state} />
      ))}
    </div>
  );
}

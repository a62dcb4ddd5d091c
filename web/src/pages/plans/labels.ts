import type { PlanAgentStatus, PlanAgentView, PlanStatus, PlanView } from "../../api/types.ts";
import type { Tone } from "../../ui/labels.ts";

export const PLAN_LABELS: Record<PlanStatus, { word: string; tone: Tone }> = {
  running: { word: "running", tone: "good" },
  stopping: { word: "stopping", tone: "warn" },
  succeeded: { word: "succeeded", tone: "good" },
  failed: { word: "failed", tone: "bad" },
  timed_out: { word: "timed out", tone: "bad" },
  cancelled: { word: "cancelled", tone: "quiet" },
};

export const AGENT_LABELS: Record<PlanAgentStatus, { word: string; tone: Tone }> = {
  waiting: { word: "waiting", tone: "quiet" },
  asking: { word: "starting", tone: "info" },
  running: { word: "running", tone: "info" },
  stopping: { word: "stopping", tone: "warn" },
  succeeded: { word: "succeeded", tone: "good" },
  failed: { word: "failed", tone: "bad" },
  cancelled: { word: "cancelled", tone: "quiet" },
  skipped: { word: "skipped", tone: "quiet" },
};

export function isLive(plan: PlanView): boolean {
  return plan.state === "running" || plan.state === "stopping";
}

export function agentsOf(plan: PlanView): PlanAgentView[] {
  return plan.stages.flatMap((stage) => stage.agents);
}

/** Returns the agents that may have processes. */
export function runningAgents(plan: PlanView): PlanAgentView[] {
  return agentsOf(plan).filter(({ state }) => state === "asking" || state === "running" || state === "stopping");
}

/** Returns the agents that a resume runs. */
export function notDone(plan: PlanView): PlanAgentView[] {
  return agentsOf(plan).filter(({ state }) => state !== "succeeded");
}

/** Counts the agents that succeeded. */
export function progress(plan: PlanView): { done: number; of: number } {
  const agents = agentsOf(plan);
  return { done: agents.filter(({ state }) => state === "succeeded").length, of: agents.length };
}

/** Returns the reason for an agent’s state, unless it only repeats the verdict. */
export function why(agent: PlanAgentView): string | null {
  const plain = agent.state === "failed" || agent.state === "skipped" || agent.state === "stopping";
  return plain && agent.why !== agent.verdict ? agent.why || null : null;
}

/** Returns a summary: `1 succeeded, 2 cancelled`. */
export function summary(plan: PlanView): string {
  const counts = new Map<string, number>();
  for (const { state } of agentsOf(plan)) counts.set(AGENT_LABELS[state].word, (counts.get(AGENT_LABELS[state].word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}

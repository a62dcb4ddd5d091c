import type { PlanAgentStatus, PlanAgentView, PlanStatus, PlanView } from "../../api/types.ts";
import type { Tone } from "../../ui/words.ts";

export const PLAN_WORDS: Record<PlanStatus, { word: string; tone: Tone }> = {
  running: { word: "running", tone: "good" },
  stopping: { word: "stopping", tone: "warn" },
  succeeded: { word: "succeeded", tone: "good" },
  failed: { word: "failed", tone: "bad" },
  timed_out: { word: "timed out", tone: "bad" },
  cancelled: { word: "cancelled", tone: "quiet" },
};

export const AGENT_WORDS: Record<PlanAgentStatus, { word: string; tone: Tone }> = {
  waiting: { word: "waiting", tone: "quiet" },
  asking: { word: "being asked", tone: "info" },
  running: { word: "at work", tone: "info" },
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

/** Those of which there may be processes. */
export function atWork(plan: PlanView): PlanAgentView[] {
  return agentsOf(plan).filter(({ state }) => state === "asking" || state === "running" || state === "stopping");
}

/** Those that a resume asks: all that have not answered. */
export function notDone(plan: PlanView): PlanAgentView[] {
  return agentsOf(plan).filter(({ state }) => state !== "succeeded");
}

/** How many of its agents have answered. */
export function progress(plan: PlanView): { done: number; of: number } {
  const agents = agentsOf(plan);
  return { done: agents.filter(({ state }) => state === "succeeded").length, of: agents.length };
}

/** Why an agent stands as it does, if its state and verdict don't say it all. */
export function why(agent: PlanAgentView): string | null {
  const plain = agent.state === "failed" || agent.state === "skipped" || agent.state === "stopping";
  return plain && agent.why !== agent.verdict ? agent.why || null : null;
}

/** `1 succeeded, 2 cancelled`. */
export function summary(plan: PlanView): string {
  const counts = new Map<string, number>();
  for (const { state } of agentsOf(plan)) counts.set(AGENT_WORDS[state].word, (counts.get(AGENT_WORDS[state].word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}

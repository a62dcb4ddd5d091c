//! What became of a plan, and of each of its agents.

use kennel_types::plan::{AgentPath, PlanSpec};
use kennel_types::{SessionId, TokenUsage, VerdictKind};
use serde::{Deserialize, Serialize};

use super::state::{AgentFailure, AgentPhase, AgentState, PlanEnding, PlanState};

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanOutcome {
    /// As a whole.
    pub result: PlanResult,
    /// Why, for people.
    pub why: String,
    /// Of each agent, in the order of the plan.
    pub agents: Vec<AgentOutcome>,
    /// What they have used up, all together.
    pub usage: TokenUsage,
}

/// What became of a plan as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanResult {
    /// Every stage has what it needs.
    Succeeded,
    /// One has not.
    Failed,
    /// It took too long.
    TimedOut,
    /// Somebody wanted its end.
    Cancelled,
}

/// What became of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentOutcome {
    /// Which.
    pub place: AgentPath,
    /// How it stands: [`AgentResult::Unfinished`] in no plan that is over.
    pub result: AgentResult,
    /// Its session, if there was one.
    pub session: Option<SessionId>,
    /// What became of its prompt, if it was judged.
    pub verdict: Option<VerdictKind>,
    /// In a few words, for people.
    pub why: String,
}

/// What became of an agent, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentResult {
    /// It has answered.
    Succeeded,
    /// It has not.
    Failed,
    /// It was stopped.
    Cancelled,
    /// It was not asked.
    Skipped,
    /// It is not over.
    Unfinished,
}

impl PlanState {
    /// What became of it, as far as it is known.
    #[must_use]
    pub fn outcome(&self, spec: &PlanSpec) -> PlanOutcome {
        let mut usage = TokenUsage::default();
        for agent in &self.agents {
            usage += agent.usage;
        }
        let (result, why) = self.result(spec);
        PlanOutcome { result, why, agents: self.agents.iter().map(told).collect(), usage }
    }

    pub(super) fn result(&self, spec: &PlanSpec) -> (PlanResult, String) {
        match &self.ending {
            None => {
                let missing = self.agents.iter().filter(|it| !it.phase.has_succeeded()).count();
                let why = match missing {
                    0 => "every agent has answered".to_owned(),
                    1 => "every stage has what it needs; 1 agent has not answered".to_owned(),
                    _ => {
                        format!("every stage has what it needs; {missing} agents have not answered")
                    }
                };
                (PlanResult::Succeeded, why)
            }
            Some(PlanEnding::AgentFailed { place }) => {
                let how = self.agent(place).map(|agent| told(agent).why).unwrap_or_default();
                (PlanResult::Failed, format!("{place}: {how}"))
            }
            Some(PlanEnding::TooFew { place, can, need }) => {
                let how = self.agent(place).map(|agent| told(agent).why).unwrap_or_default();
                let stage = &place.stage;
                let why = format!(
                    "stage {stage} needs {need}, and {can} could still answer ({place}: {how})"
                );
                (PlanResult::Failed, why)
            }
            Some(PlanEnding::TimeOver) => {
                let limit = spec.timeout.map(|limit| format!(" of {limit:?}")).unwrap_or_default();
                (PlanResult::TimedOut, format!("it took longer than its time{limit}"))
            }
            Some(PlanEnding::Cancelled { by }) => {
                (PlanResult::Cancelled, format!("cancelled by {by}"))
            }
        }
    }
}

/// What became of an agent: no more than is known.
pub(super) fn told(agent: &AgentState) -> AgentOutcome {
    let (result, why) = match &agent.phase {
        AgentPhase::Waiting => (AgentResult::Unfinished, "not asked yet".to_owned()),
        AgentPhase::Asking => (AgentResult::Unfinished, "about to be asked".to_owned()),
        AgentPhase::Asked { .. } => (AgentResult::Unfinished, "not over".to_owned()),
        AgentPhase::Done { .. } => (AgentResult::Succeeded, "it has answered".to_owned()),
        AgentPhase::Cancelled { .. } => {
            (AgentResult::Cancelled, "stopped, and seen to be gone".to_owned())
        }
        AgentPhase::Skipped { why } => (AgentResult::Skipped, format!("not asked: {why}")),
        AgentPhase::Failed { why: AgentFailure::Refused { why } } => {
            (AgentResult::Failed, format!("refused: {why}"))
        }
        AgentPhase::Failed { why: AgentFailure::Judged { verdict: VerdictKind::Unknown, .. } } => {
            let why = "it may have run, and nobody knows how it ended".to_owned();
            (AgentResult::Failed, why)
        }
        AgentPhase::Failed { why: AgentFailure::Judged { verdict, .. } } => {
            (AgentResult::Failed, verdict.to_string())
        }
    };
    AgentOutcome {
        place: agent.place.clone(),
        result,
        session: agent.phase.session().cloned(),
        verdict: agent.phase.verdict(),
        why,
    }
}

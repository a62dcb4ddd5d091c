//! What programs are shown of a plan. Field names are stable: added to, never changed.

use serde::{Deserialize, Serialize};

use super::outcome::{PlanResult, told};
use super::spec::{PlanAgent, PlanSpec, StageSpec, Who};
use super::state::{AgentPhase, AgentState, PlanState};
use crate::verdict::{Usage, VerdictKind};

/// A plan, as `--json` and the API show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanView {
    /// The id of this run of it.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// How it stands.
    pub state: PlanStatus,
    /// Why, for people, once it is to end or has ended.
    pub why: Option<String>,
    /// When it was begun: RFC 3339.
    pub created_at: String,
    /// When it was over.
    pub ended_at: Option<String>,
    /// Its stages, in their order.
    pub stages: Vec<StageView>,
    /// What its agents have used up, all together, as far as it is known.
    pub usage: Usage,
}

/// How a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Agents are at work, or about to be asked.
    Running,
    /// Nobody is asked any more, and somebody is not over.
    Stopping,
    /// Over: every stage has what it needs.
    Succeeded,
    /// Over: one has not.
    Failed,
    /// Over: it took too long.
    TimedOut,
    /// Over: somebody wanted it.
    Cancelled,
}

/// A stage of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageView {
    /// Its name.
    pub name: String,
    /// How many must succeed, if that is said.
    pub need: Option<u32>,
    /// Its agents, in their order.
    pub agents: Vec<PlanAgentView>,
}

/// An agent of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanAgentView {
    /// Its name in the stage.
    pub name: String,
    /// Who is asked, if it is no member.
    pub agent: Option<String>,
    /// The member that is asked, if one is.
    pub member: Option<String>,
    /// How it stands.
    pub state: PlanAgentStatus,
    /// In a few words, for people.
    pub why: String,
    /// The session, if there is one, or was.
    pub session: Option<String>,
    /// What became of its prompt, once it was judged.
    pub verdict: Option<VerdictKind>,
    /// How often it was asked.
    pub asks: u32,
    /// What it has used up, as far as it is known.
    pub usage: Usage,
}

/// How an agent of a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanAgentStatus {
    /// It was not asked.
    Waiting,
    /// It is being asked.
    Asking,
    /// It is at work.
    Running,
    /// It is to end, and was not seen to be gone.
    Stopping,
    /// It has answered.
    Succeeded,
    /// It has not.
    Failed,
    /// It was stopped, and seen to be gone.
    Cancelled,
    /// It was not asked, and will not be.
    Skipped,
}

impl PlanState {
    /// As programs are shown it.
    #[must_use]
    pub fn view(
        &self,
        spec: &PlanSpec,
        id: &str,
        created_at: String,
        ended_at: Option<String>,
    ) -> PlanView {
        let outcome = self.outcome(spec);
        let state = self.status(spec);
        let stages = spec.stages.iter().map(|stage| self.stage_view(spec, stage));
        PlanView {
            id: id.to_owned(),
            name: spec.name.to_string(),
            state,
            why: (state != PlanStatus::Running).then_some(outcome.why),
            created_at,
            ended_at,
            stages: stages.collect(),
            usage: outcome.usage,
        }
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self, spec: &PlanSpec) -> PlanStatus {
        match (self.is_over(), &self.ending, self.result(spec).0) {
            (false, None, _) => PlanStatus::Running,
            (false, Some(_), _) => PlanStatus::Stopping,
            (true, _, PlanResult::Succeeded) => PlanStatus::Succeeded,
            (true, _, PlanResult::Failed) => PlanStatus::Failed,
            (true, _, PlanResult::TimedOut) => PlanStatus::TimedOut,
            (true, _, PlanResult::Cancelled) => PlanStatus::Cancelled,
        }
    }

    fn stage_view(&self, spec: &PlanSpec, stage: &StageSpec) -> StageView {
        let agents = stage.agents.iter().filter_map(|agent| {
            let state = self.agent(&stage.place(agent))?;
            Some(agent_view(agent, state, self.is_unwanted(spec, &state.place)))
        });
        StageView { name: stage.name.to_string(), need: stage.need, agents: agents.collect() }
    }
}

fn agent_view(agent: &PlanAgent, state: &AgentState, unwanted: bool) -> PlanAgentView {
    let outcome = told(state);
    let (name, member) = match &agent.who {
        Who::Agent(name) => (Some(name.clone()), None),
        Who::Member(name) => (None, Some(name.clone())),
    };
    PlanAgentView {
        name: agent.name.to_string(),
        agent: name,
        member,
        state: match &state.phase {
            AgentPhase::Asking | AgentPhase::Asked { .. } if unwanted => PlanAgentStatus::Stopping,
            AgentPhase::Waiting => PlanAgentStatus::Waiting,
            AgentPhase::Asking => PlanAgentStatus::Asking,
            AgentPhase::Asked { .. } => PlanAgentStatus::Running,
            AgentPhase::Done { .. } => PlanAgentStatus::Succeeded,
            AgentPhase::Failed { .. } => PlanAgentStatus::Failed,
            AgentPhase::Cancelled { .. } => PlanAgentStatus::Cancelled,
            AgentPhase::Skipped { .. } => PlanAgentStatus::Skipped,
        },
        why: outcome.why,
        session: outcome.session.map(String::from),
        verdict: outcome.verdict,
        asks: state.asks,
        usage: state.usage,
    }
}

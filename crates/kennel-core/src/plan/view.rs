//! What programs are shown of a plan. Field names are stable: added to, never changed.

use kennel_types::plan::{
    PlanAgent, PlanAgentStatus, PlanAgentView, PlanSpec, PlanStatus, PlanTarget, PlanView,
    StageSpec, StageView,
};

use super::outcome::{PlanResult, told};
use super::state::{AgentPhase, AgentState, PlanState};

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
        PlanTarget::Agent(name) => (Some(name.clone()), None),
        PlanTarget::Member(name) => (None, Some(name.clone())),
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

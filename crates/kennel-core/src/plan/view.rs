//! What became of a plan and of each of its agents, and the view of both for programs.

use kennel_types::plan::{
    AgentPath, PlanAgent, PlanAgentStatus, PlanAgentView, PlanSpec, PlanStatus, PlanTarget,
    PlanView, StageSpec, StageView,
};
use kennel_types::{SessionId, TokenUsage, VerdictKind};

use super::state::{AgentPhase, AgentState, PlanEnding, PlanState};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOutcome {
    pub status: PlanStatus,
    pub why: String,
    /// The outcome of each agent, in the order of the plan.
    pub agents: Vec<AgentOutcome>,
    pub usage: TokenUsage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOutcome {
    pub place: AgentPath,
    pub status: PlanAgentStatus,
    pub session: Option<SessionId>,
    /// The verdict, if the prompt was judged.
    pub verdict: Option<VerdictKind>,
    pub why: String,
}

impl PlanState {
    /// Returns what became of the plan, as far as it is known.
    #[must_use]
    pub fn outcome(&self, spec: &PlanSpec) -> PlanOutcome {
        let mut usage = TokenUsage::default();
        for agent in &self.agents {
            usage += agent.usage;
        }
        let agents = self.agents.iter().map(AgentState::outcome).collect();
        PlanOutcome { status: self.status(), why: self.why(spec), agents, usage }
    }

    #[must_use]
    pub fn status(&self) -> PlanStatus {
        match (&self.ending, self.is_over()) {
            (None, false) => PlanStatus::Running,
            (Some(_), false) => PlanStatus::Stopping,
            (None, true) => PlanStatus::Succeeded,
            (Some(PlanEnding::AgentFailed { .. } | PlanEnding::TooFew { .. }), true) => {
                PlanStatus::Failed
            }
            (Some(PlanEnding::TimeOver), true) => PlanStatus::TimedOut,
            (Some(PlanEnding::Cancelled { .. }), true) => PlanStatus::Cancelled,
        }
    }

    fn why(&self, spec: &PlanSpec) -> String {
        let why_failed = |place| self.agent(place).map(|it| it.outcome().why).unwrap_or_default();
        match &self.ending {
            None => match self.agents.iter().filter(|it| !it.phase.has_succeeded()).count() {
                0 => "every agent answered".to_owned(),
                1 => "every stage has what it needs; 1 agent did not answer".to_owned(),
                more => format!("every stage has what it needs; {more} agents did not answer"),
            },
            Some(PlanEnding::AgentFailed { place }) => format!("{place}: {}", why_failed(place)),
            Some(PlanEnding::TooFew { place, can, need }) => {
                let (stage, why) = (&place.stage, why_failed(place));
                format!(
                    "stage {stage} needs {need} answers, but can get only {can} ({place}: {why})"
                )
            }
            Some(PlanEnding::TimeOver) => {
                let limit = spec.timeout.map(|limit| format!(" of {limit:?}")).unwrap_or_default();
                format!("the plan exceeded its timeout{limit}")
            }
            Some(PlanEnding::Cancelled { by }) => format!("cancelled by {by}"),
        }
    }

    #[must_use]
    pub fn view(
        &self,
        spec: &PlanSpec,
        id: &str,
        created_at: String,
        ended_at: Option<String>,
    ) -> PlanView {
        let outcome = self.outcome(spec);
        let stages = spec.stages.iter().map(|stage| self.stage_view(spec, stage));
        PlanView {
            id: id.to_owned(),
            name: spec.name.to_string(),
            state: outcome.status,
            why: (outcome.status != PlanStatus::Running).then_some(outcome.why),
            created_at,
            ended_at,
            stages: stages.collect(),
            usage: outcome.usage,
        }
    }

    fn stage_view(&self, spec: &PlanSpec, stage: &StageSpec) -> StageView {
        let agents = stage.agents.iter().filter_map(|agent| {
            let state = self.agent(&stage.path_of(agent))?;
            Some(agent_view(agent, state, self.is_unwanted(spec, &state.place)))
        });
        StageView { name: stage.name.to_string(), need: stage.need, agents: agents.collect() }
    }
}

impl AgentState {
    fn outcome(&self) -> AgentOutcome {
        let (status, why) = match &self.phase {
            AgentPhase::Waiting => (PlanAgentStatus::Waiting, "not asked yet".to_owned()),
            AgentPhase::Asking => (PlanAgentStatus::Asking, "about to be asked".to_owned()),
            AgentPhase::Asked { .. } => (PlanAgentStatus::Running, "not finished".to_owned()),
            AgentPhase::Done { .. } => (PlanAgentStatus::Succeeded, "it answered".to_owned()),
            AgentPhase::Cancelled { .. } => {
                (PlanAgentStatus::Cancelled, "all its processes are gone".to_owned())
            }
            AgentPhase::Skipped { why } => (PlanAgentStatus::Skipped, format!("not asked: {why}")),
            AgentPhase::Failed { why } => (PlanAgentStatus::Failed, why.to_string()),
        };
        AgentOutcome {
            place: self.place.clone(),
            status,
            session: self.phase.session().cloned(),
            verdict: self.phase.verdict(),
            why,
        }
    }
}

fn agent_view(agent: &PlanAgent, state: &AgentState, unwanted: bool) -> PlanAgentView {
    let outcome = state.outcome();
    let (name, member) = match &agent.who {
        PlanTarget::Agent(name) => (Some(name.clone()), None),
        PlanTarget::Member(name) => (None, Some(name.clone())),
    };
    PlanAgentView {
        name: agent.name.to_string(),
        agent: name,
        member,
        state: if unwanted { PlanAgentStatus::Stopping } else { outcome.status },
        why: outcome.why,
        session: outcome.session.map(String::from),
        verdict: outcome.verdict,
        asks: state.asks,
        usage: state.usage,
    }
}

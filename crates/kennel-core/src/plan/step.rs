//! What is to be done for a plan, and what becomes of it when something happens.

use kennel_types::plan::{AgentPath, OnFailure, PlanAgent, PlanSpec, StageSpec};
use kennel_types::{SessionId, TokenUsage, VerdictKind};

use super::outcome::PlanOutcome;
use super::state::{
    AgentFailure, AgentPhase, AgentState, EventOutcome, IgnoredReason, PlanEnding, PlanEvent,
    PlanState, SkipReason,
};

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum PlanAction {
    /// To ask an agent: after [`PlanEvent::Asking`] was taken, and under the key of this ask ([`Place::ask_key`]).
    Ask {
        /// Which.
        place: AgentPath,
        /// For the how manieth time.
        ask: u32,
    },
    /// To stop an agent that may be alive. It is said until the agent is over: a stop twice is a stop. If there is no
    /// session yet, because the ask is under way, the session is stopped as soon as there is one.
    Stop {
        /// Which.
        place: AgentPath,
        /// By which ask.
        ask: u32,
    },
    /// To tell the outcome, and then that it was told ([`PlanEvent::Finished`]).
    Finish(PlanOutcome),
}

/// A stage, and how each of its agents stands.
struct StageProgress<'a> {
    spec: &'a StageSpec,
    agents: Vec<(&'a PlanAgent, &'a AgentState)>,
}

impl StageProgress<'_> {
    fn succeeded(&self) -> usize {
        self.agents.iter().filter(|(_, state)| state.phase.has_succeeded()).count()
    }

    /// Whether an agent is one of those that are not needed any more.
    fn is_rest(&self, agent: &PlanAgent) -> bool {
        let enough = self.spec.need.is_some_and(|need| self.succeeded() >= need as usize);
        enough && self.spec.stop_rest && self.spec.on_failure(agent) == OnFailure::Continue
    }

    /// Why the plan has failed with this stage, if it has.
    fn failure(&self) -> Option<PlanEnding> {
        let lost = |state: &AgentState| state.phase.is_over() && !state.phase.has_succeeded();
        let mut over = self.agents.iter().filter(|(_, state)| lost(state));
        let fatal =
            over.clone().find(|(agent, _)| self.spec.on_failure(agent) == OnFailure::FailPlan);
        if let Some((_, state)) = fatal {
            return Some(PlanEnding::AgentFailed { place: state.place.clone() });
        }
        let need = self.spec.need?;
        let can = self.agents.iter().filter(|(_, state)| !lost(state)).count();
        let (_, last) = over.next_back()?;
        let can = u32::try_from(can).unwrap_or(u32::MAX);
        (can < need).then(|| PlanEnding::TooFew { place: last.place.clone(), can, need })
    }
}

impl PlanState {
    /// What is to be done. It is said again until it is known to be done, so that whoever was killed in the middle of it
    /// finds out from the record.
    pub fn next(&self, spec: &PlanSpec) -> Vec<PlanAction> {
        if self.finished {
            return Vec::new();
        }
        if self.is_over() {
            return vec![PlanAction::Finish(self.outcome(spec))];
        }
        let ask = |state: &AgentState| PlanAction::Ask {
            place: state.place.clone(),
            ask: state.asks.saturating_add(1),
        };
        let mut actions: Vec<_> = self.unwanted(spec).into_iter().map(stop).collect();
        actions.extend(self.askable(spec).into_iter().map(ask));
        actions
    }

    /// What becomes of it.
    pub fn happened(&mut self, spec: &PlanSpec, event: &PlanEvent) -> EventOutcome {
        let heard = match event {
            PlanEvent::Asking { place, ask } => self.asking(spec, place, *ask),
            PlanEvent::Asked { place, ask, session } => self.asked(place, *ask, session),
            PlanEvent::NotAsked { place, ask } => self.answer(place, *ask, AgentPhase::Waiting),
            PlanEvent::Refused { place, ask, why } => {
                let why = AgentFailure::Refused { why: why.clone() };
                self.answer(place, *ask, AgentPhase::Failed { why })
            }
            PlanEvent::Judged { place, ask, session, verdict, usage } => {
                self.judged(place, *ask, session, *verdict, *usage)
            }
            PlanEvent::CancelWanted { by } => self.end(PlanEnding::Cancelled { by: by.clone() }),
            PlanEvent::TimeOver => self.end(PlanEnding::TimeOver),
            PlanEvent::Finished => self.told(),
            PlanEvent::Resumed { replay } => self.resumed(spec, *replay),
        };
        if heard == Ok(()) {
            self.settle(spec);
        }
        match heard {
            Ok(()) => EventOutcome::Taken,
            Err(why) => EventOutcome::Ignored(why),
        }
    }

    fn stages<'a>(&'a self, spec: &'a PlanSpec) -> impl Iterator<Item = StageProgress<'a>> {
        let mut states = self.agents.iter();
        spec.stages.iter().map(move |stage| {
            let agents = stage.agents.iter().zip(states.by_ref()).collect();
            StageProgress { spec: stage, agents }
        })
    }

    /// The stage that is at work.
    fn current<'a>(&'a self, spec: &'a PlanSpec) -> Option<StageProgress<'a>> {
        let mut stages = self.stages(spec);
        stages.find(|stage| !stage.agents.iter().all(|(_, state)| state.phase.is_over()))
    }

    /// Those who may be asked now. Nobody, if the plan is to end.
    fn askable<'a>(&'a self, spec: &'a PlanSpec) -> Vec<&'a AgentState> {
        if self.ending.is_some() {
            return Vec::new();
        }
        let Some(stage) = self.current(spec) else { return Vec::new() };
        let alive = self.agents.iter().filter(|state| state.phase.may_be_alive()).count();
        let most = spec.concurrency.map_or(usize::MAX, |most| most as usize);
        let waiting = stage.agents.iter().filter(|(_, state)| state.phase == AgentPhase::Waiting);
        waiting.map(|(_, state)| *state).take(most.saturating_sub(alive)).collect()
    }

    /// Those who may be alive, and shall not be.
    fn unwanted<'a>(&'a self, spec: &'a PlanSpec) -> Vec<&'a AgentState> {
        if self.ending.is_some() {
            return self.agents.iter().filter(|state| state.phase.may_be_alive()).collect();
        }
        let Some(stage) = self.current(spec) else { return Vec::new() };
        let rest = stage.agents.iter().filter(|(agent, _)| stage.is_rest(agent));
        rest.map(|(_, state)| *state).filter(|state| state.phase.may_be_alive()).collect()
    }

    /// Whether an agent is to be stopped.
    #[must_use]
    pub fn is_unwanted(&self, spec: &PlanSpec, place: &AgentPath) -> bool {
        self.unwanted(spec).iter().any(|state| state.place == *place)
    }

    /// What follows from what happened: whether the plan has failed, and who will not be asked any more.
    pub(super) fn settle(&mut self, spec: &PlanSpec) {
        if self.ending.is_none() {
            let failure = self.stages(spec).find_map(|stage| stage.failure());
            self.ending = failure;
        }
        let why = match &self.ending {
            Some(PlanEnding::AgentFailed { .. } | PlanEnding::TooFew { .. }) => SkipReason::Failed,
            Some(PlanEnding::TimeOver) => SkipReason::TimeOver,
            Some(PlanEnding::Cancelled { .. }) => SkipReason::Cancelled,
            None => SkipReason::NotNeeded,
        };
        let rest: Vec<AgentPath> = match (&self.ending, self.current(spec)) {
            (None, Some(stage)) => {
                let rest = stage.agents.iter().filter(|(agent, _)| stage.is_rest(agent));
                rest.map(|(_, state)| state.place.clone()).collect()
            }
            _ => Vec::new(),
        };
        for agent in &mut self.agents {
            let unneeded = self.ending.is_some() || rest.contains(&agent.place);
            if unneeded && agent.phase == AgentPhase::Waiting {
                agent.phase = AgentPhase::Skipped { why };
            }
        }
    }

    fn agent_mut(&mut self, place: &AgentPath) -> Result<&mut AgentState, IgnoredReason> {
        let found = self.agents.iter_mut().find(|agent| agent.place == *place);
        found.ok_or_else(|| IgnoredReason::NoAgent(place.clone()))
    }

    /// The one step between "may be" and "is known": whatever came before it has its say here.
    fn asking(
        &mut self,
        spec: &PlanSpec,
        place: &AgentPath,
        ask: u32,
    ) -> Result<(), IgnoredReason> {
        let may = self.askable(spec).iter().any(|state| state.place == *place);
        let agent = self.agent_mut(place)?;
        if ask <= agent.asks {
            return Err(IgnoredReason::Late);
        }
        if !may || ask != agent.asks.saturating_add(1) {
            return Err(IgnoredReason::NotNow);
        }
        agent.asks = ask;
        agent.phase = AgentPhase::Asking;
        Ok(())
    }

    fn asked(
        &mut self,
        place: &AgentPath,
        ask: u32,
        session: &SessionId,
    ) -> Result<(), IgnoredReason> {
        let agent = self.agent_mut(place)?;
        if agent.asks != ask {
            return Err(IgnoredReason::Late);
        }
        match &agent.phase {
            AgentPhase::Asking => {
                agent.phase = AgentPhase::Asked { session: session.base() };
                Ok(())
            }
            // It may be over by then: its end was told first.
            phase if phase.session().is_some_and(|known| known.is_same_session(session)) => {
                Err(IgnoredReason::Known)
            }
            _ => Err(IgnoredReason::Late),
        }
    }

    /// An ask that is under way has come to nothing.
    fn answer(
        &mut self,
        place: &AgentPath,
        ask: u32,
        then: AgentPhase,
    ) -> Result<(), IgnoredReason> {
        let agent = self.agent_mut(place)?;
        if agent.asks != ask || agent.phase != AgentPhase::Asking {
            return Err(IgnoredReason::Late);
        }
        agent.phase = then;
        Ok(())
    }

    fn judged(
        &mut self,
        place: &AgentPath,
        ask: u32,
        session: &SessionId,
        verdict: VerdictKind,
        usage: TokenUsage,
    ) -> Result<(), IgnoredReason> {
        let agent = self.agent_mut(place)?;
        let ours = match &agent.phase {
            AgentPhase::Asking => true,
            AgentPhase::Asked { session: asked } => asked.is_same_session(session),
            _ => false,
        };
        if !ours || agent.asks != ask {
            return Err(IgnoredReason::Late);
        }
        let session = session.base();
        agent.usage += usage;
        agent.may_have_run = verdict == VerdictKind::Unknown;
        agent.phase = match verdict {
            VerdictKind::Succeeded => AgentPhase::Done { session },
            VerdictKind::Cancelled => AgentPhase::Cancelled { session },
            verdict => AgentPhase::Failed { why: AgentFailure::Judged { session, verdict } },
        };
        Ok(())
    }

    /// A cancel is the last word on why; otherwise the first.
    fn end(&mut self, ending: PlanEnding) -> Result<(), IgnoredReason> {
        if self.is_over() {
            return Err(IgnoredReason::Over);
        }
        let cancel = matches!(ending, PlanEnding::Cancelled { .. });
        match &self.ending {
            Some(PlanEnding::Cancelled { .. }) => return Err(IgnoredReason::Known),
            Some(_) if !cancel => return Err(IgnoredReason::Known),
            _ => {}
        }
        self.ending = Some(ending);
        Ok(())
    }

    fn told(&mut self) -> Result<(), IgnoredReason> {
        if !self.is_over() {
            return Err(IgnoredReason::NotOver);
        }
        if std::mem::replace(&mut self.finished, true) {
            return Err(IgnoredReason::Known);
        }
        Ok(())
    }
}

/// To stop it.
fn stop(state: &AgentState) -> PlanAction {
    PlanAction::Stop { place: state.place.clone(), ask: state.asks }
}

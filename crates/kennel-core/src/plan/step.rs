//! The decisions of a plan: its next actions, and the effect of each event.

use kennel_types::plan::{AgentPath, OnFailure, PlanAgent, PlanSpec, StageSpec};
use kennel_types::{SessionId, TokenUsage, VerdictKind};

use super::state::{
    AgentPhase, AgentState, AskFailure, IgnoredReason, PlanEnding, PlanEvent, PlanState, SkipReason,
};
use super::view::PlanOutcome;

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum PlanAction {
    /// Ask an agent, after [`PlanEvent::Asking`] was accepted, under the key of this ask
    /// ([`AgentPath::ask_key`]).
    Ask { place: AgentPath, ask: u32 },
    /// Stop an agent that may be alive. The action repeats until the agent is over. If the ask is
    /// still in progress, the session is stopped as soon as it exists.
    Stop { place: AgentPath, ask: u32 },
    /// Report the outcome, and then send [`PlanEvent::Finished`].
    Finish(PlanOutcome),
}

struct StageProgress<'a> {
    spec: &'a StageSpec,
    agents: Vec<(&'a PlanAgent, &'a AgentState)>,
}

impl StageProgress<'_> {
    fn succeeded(&self) -> usize {
        self.agents.iter().filter(|(_, state)| state.phase.has_succeeded()).count()
    }

    /// Returns whether an agent is not needed any more.
    fn is_rest(&self, agent: &PlanAgent) -> bool {
        let enough = self.spec.need.is_some_and(|need| self.succeeded() >= need as usize);
        enough && self.spec.stop_rest && self.spec.on_failure(agent) == OnFailure::Continue
    }

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
    /// Returns the actions to take. Each repeats until an event confirms it, so a daemon that
    /// crashed in between finds it again in the record.
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

    /// Applies an event; fails if it changes nothing. The caller must record the new state.
    pub fn happened(&mut self, spec: &PlanSpec, event: &PlanEvent) -> Result<(), IgnoredReason> {
        match event {
            PlanEvent::Asking { place, ask } => self.asking(spec, place, *ask),
            PlanEvent::Asked { place, ask, session } => self.asked(place, *ask, session),
            PlanEvent::NotAsked { place, ask } => self.no_session(place, *ask, AgentPhase::Waiting),
            PlanEvent::Refused { place, ask, why } => {
                let why = AskFailure::Refused { why: why.clone() };
                self.no_session(place, *ask, AgentPhase::Failed { why })
            }
            PlanEvent::Judged { place, ask, session, verdict, usage } => {
                self.judged(place, *ask, session, *verdict, *usage)
            }
            PlanEvent::CancelWanted { by } => self.end(PlanEnding::Cancelled { by: by.clone() }),
            PlanEvent::TimeOver => self.end(PlanEnding::TimeOver),
            PlanEvent::Finished => self.reported(),
            PlanEvent::Resumed { replay } => self.resumed(spec, *replay),
        }?;
        self.settle(spec);
        Ok(())
    }

    fn stages<'a>(&'a self, spec: &'a PlanSpec) -> impl Iterator<Item = StageProgress<'a>> {
        let mut states = self.agents.iter();
        spec.stages.iter().map(move |stage| {
            let agents = stage.agents.iter().zip(states.by_ref()).collect();
            StageProgress { spec: stage, agents }
        })
    }

    /// Returns the first stage that is not over.
    fn current<'a>(&'a self, spec: &'a PlanSpec) -> Option<StageProgress<'a>> {
        let mut stages = self.stages(spec);
        stages.find(|stage| !stage.agents.iter().all(|(_, state)| state.phase.is_over()))
    }

    /// Returns the agents that may be asked now: none if the plan is ending.
    fn askable<'a>(&'a self, spec: &'a PlanSpec) -> Vec<&'a AgentState> {
        if self.ending.is_some() {
            return Vec::new();
        }
        let Some(stage) = self.current(spec) else { return Vec::new() };
        let alive = self.agents.iter().filter(|state| state.phase.may_be_alive()).count();
        let limit = spec.concurrency.map_or(usize::MAX, |limit| limit as usize);
        let waiting = stage.agents.iter().filter(|(_, state)| state.phase == AgentPhase::Waiting);
        waiting.map(|(_, state)| *state).take(limit.saturating_sub(alive)).collect()
    }

    /// Returns the agents that may be alive and must be stopped.
    fn unwanted<'a>(&'a self, spec: &'a PlanSpec) -> Vec<&'a AgentState> {
        if self.ending.is_some() {
            return self.agents.iter().filter(|state| state.phase.may_be_alive()).collect();
        }
        let Some(stage) = self.current(spec) else { return Vec::new() };
        let rest = stage.agents.iter().filter(|(agent, _)| stage.is_rest(agent));
        rest.map(|(_, state)| *state).filter(|state| state.phase.may_be_alive()).collect()
    }

    /// Returns whether an agent must be stopped.
    #[must_use]
    pub fn is_unwanted(&self, spec: &PlanSpec, place: &AgentPath) -> bool {
        self.unwanted(spec).iter().any(|state| state.place == *place)
    }

    /// Returns why an agent is not asked any more.
    #[must_use]
    pub fn skip_reason(&self) -> SkipReason {
        match &self.ending {
            Some(PlanEnding::AgentFailed { .. } | PlanEnding::TooFew { .. }) => SkipReason::Failed,
            Some(PlanEnding::TimeOver) => SkipReason::TimeOver,
            Some(PlanEnding::Cancelled { .. }) => SkipReason::Cancelled,
            None => SkipReason::NotNeeded,
        }
    }

    /// Decides whether the plan failed, and skips the agents that will not be asked any more.
    fn settle(&mut self, spec: &PlanSpec) {
        if self.ending.is_none() {
            let failure = self.stages(spec).find_map(|stage| stage.failure());
            self.ending = failure;
        }
        let why = self.skip_reason();
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

    /// Accepts an ask only if nothing that happened before it, such as a cancel, rules it out.
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
            // The session may be over already: events can arrive in any order.
            phase if phase.session().is_some_and(|known| known.is_same_session(session)) => {
                Err(IgnoredReason::Known)
            }
            _ => Err(IgnoredReason::Late),
        }
    }

    /// Ends an ask in progress that has no session.
    fn no_session(
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
            verdict => AgentPhase::Failed { why: AskFailure::Judged { session, verdict } },
        };
        Ok(())
    }

    /// Ends the plan. The first reason counts, but a cancel replaces any other.
    fn end(&mut self, ending: PlanEnding) -> Result<(), IgnoredReason> {
        if self.is_over() {
            return Err(IgnoredReason::Over);
        }
        let cancel = matches!(ending, PlanEnding::Cancelled { .. });
        if matches!(&self.ending, Some(before) if !cancel || matches!(before, PlanEnding::Cancelled { .. }))
        {
            return Err(IgnoredReason::Known);
        }
        self.ending = Some(ending);
        Ok(())
    }

    fn reported(&mut self) -> Result<(), IgnoredReason> {
        if !self.is_over() {
            return Err(IgnoredReason::NotOver);
        }
        if std::mem::replace(&mut self.finished, true) {
            return Err(IgnoredReason::Known);
        }
        Ok(())
    }

    /// Makes agents without an answer wait again, from the last stage that began: later stages have
    /// already continued without the answers that an earlier one lacks. An agent that may have run
    /// is left out, unless `replay` is set.
    fn resumed(&mut self, spec: &PlanSpec, replay: bool) -> Result<(), IgnoredReason> {
        if !self.finished {
            return Err(IgnoredReason::NotOver);
        }
        let mut next = self.clone();
        next.finished = false;
        next.ending = None;
        let mut left: Vec<AgentPath> = Vec::new();
        for agent in next.agents.iter_mut().skip(self.begun(spec)) {
            if agent.may_have_run && !replay {
                left.push(agent.place.clone());
            } else if !agent.phase.has_succeeded() {
                agent.phase = AgentPhase::Waiting;
            }
        }
        next.settle(spec);
        let waiting = next.agents.iter().any(|agent| agent.phase == AgentPhase::Waiting);
        match (waiting, left.is_empty()) {
            (true, _) => {
                *self = next;
                Ok(())
            }
            (false, true) => Err(IgnoredReason::NothingLeft),
            (false, false) => Err(IgnoredReason::MayHaveRun(left)),
        }
    }

    /// Returns the number of the first agent in the last stage that began.
    fn begun(&self, spec: &PlanSpec) -> usize {
        let (mut first, mut begun) = (0, 0);
        for stage in &spec.stages {
            let end = first + stage.agents.len();
            let agents = self.agents.get(first..end).unwrap_or_default();
            if agents.iter().any(|agent| agent.asks > 0) {
                begun = first;
            }
            first = end;
        }
        begun
    }
}

fn stop(state: &AgentState) -> PlanAction {
    PlanAction::Stop { place: state.place.clone(), ask: state.asks }
}

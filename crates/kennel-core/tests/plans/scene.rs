//! A plan, the actual state of each ask, and the messages about it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use kennel_core::plan::{IgnoredReason, PlanAction, PlanEvent, PlanState};
use kennel_types::plan::{AgentPath, PlanSpec};
use kennel_types::{IdMaker, SessionId, TokenUsage, VerdictKind};

use crate::search::{self, SearchSize, System, Violation};
use crate::{PlanLogic, oracle};

/// How many faults and requests may still occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) cancels: u8,
    pub(crate) crashes: u8,
    /// Messages that are delivered twice.
    pub(crate) doubled: u8,
    pub(crate) timeouts: u8,
    pub(crate) resumes: u8,
    /// Agents that are refused, or end without an answer.
    pub(crate) failures: u8,
}

/// The actual state of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ActualAsk {
    /// It is in progress.
    UnderWay,
    /// There is no session, and there will be none.
    Nothing,
    Refused,
    /// There is a session.
    Alive,
    Over(VerdictKind),
}

impl ActualAsk {
    pub(crate) fn may_be_alive(self) -> bool {
        matches!(self, Self::UnderWay | Self::Alive)
    }
}

/// What a message reports about an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AskReport {
    Asked,
    NotAsked,
    Refused,
    Judged(VerdictKind),
}

/// The numbers of the agent and of the ask, and the report.
pub(crate) type Message = (usize, u32, AskReport);

/// Something that can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    /// The daemon reads an action to ask. Other things may happen before it acts on it.
    ReadAction(usize, u32),
    /// The daemon announces the ask, and asks if the plan accepts that.
    Ask(usize, u32),
    Arrive(usize),
    Refuse(usize),
    End(usize, VerdictKind),
    Stop(usize, u32),
    Deliver(Message),
    /// A message that will be delivered again.
    DeliverTwice(Message),
    Cancel,
    TimeOver,
    /// The daemon crashes. `arrives`: whether asks in progress still create their sessions.
    Crash {
        arrives: bool,
    },
    Finish,
    Resume {
        replay: bool,
    },
}

/// Whether a move must happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Due,
    Possible,
}

/// One state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scene {
    pub(crate) plan: PlanState,
    /// The asks of each agent.
    pub(crate) asks: Vec<Vec<ActualAsk>>,
    /// Actions to ask that the daemon has read and not yet announced.
    pending: BTreeSet<(usize, u32)>,
    /// Messages, delivered in any order.
    inbox: BTreeSet<Message>,
    pub(crate) budget: Budget,
    /// Whether the plan was cancelled since the last resume.
    pub(crate) cancelled: bool,
    pub(crate) timed_out: bool,
    /// Whether the plan knows of a failure that fails it.
    pub(crate) failed: bool,
    /// Whether prompts that may have run may be repeated.
    pub(crate) replay: bool,
}

impl Scene {
    pub(crate) fn new(spec: &PlanSpec, budget: Budget) -> Self {
        let plan = PlanState::new(spec);
        Self {
            asks: vec![Vec::new(); plan.agents.len()],
            plan,
            pending: BTreeSet::new(),
            inbox: BTreeSet::new(),
            budget,
            cancelled: false,
            timed_out: false,
            failed: false,
            replay: false,
        }
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the newest ask of an agent.
    pub(crate) fn last(&self, agent: usize) -> Option<ActualAsk> {
        self.asks[agent].last().copied()
    }

    fn place(&self, agent: usize) -> AgentPath {
        self.plan.agents[agent].place.clone()
    }

    fn number_of(&self, place: &AgentPath) -> usize {
        self.plan.agents.iter().position(|agent| agent.place == *place).unwrap()
    }

    /// Returns the possible moves.
    pub(crate) fn moves(&self, logic: &dyn PlanLogic, spec: &PlanSpec) -> Vec<(Move, Kind)> {
        let mut moves = Vec::new();
        let to_end = self.cancelled || self.timed_out || self.failed;
        moves.extend(self.inbox.iter().map(|it| (Move::Deliver(*it), Kind::Due)));
        moves.extend(self.pending.iter().map(|it| (Move::Ask(it.0, it.1), Kind::Due)));
        for action in logic.next(&self.plan, spec) {
            match action {
                PlanAction::Ask { place, ask } => {
                    let agent = self.number_of(&place);
                    // A delay makes a difference only if a cancel or timeout may happen meanwhile.
                    let ahead = self.budget.cancels + self.budget.timeouts > 0;
                    match self.pending.contains(&(agent, ask)) {
                        true => {}
                        false if ahead => moves.push((Move::ReadAction(agent, ask), Kind::Due)),
                        false => moves.push((Move::Ask(agent, ask), Kind::Due)),
                    }
                }
                PlanAction::Stop { place, ask } => {
                    let agent = self.number_of(&place);
                    if self.asks[agent].get(ask as usize - 1) == Some(&ActualAsk::Alive) {
                        moves.push((Move::Stop(agent, ask), Kind::Due));
                    }
                }
                PlanAction::Finish(_) => moves.push((Move::Finish, Kind::Due)),
            }
        }
        for agent in 0..self.asks.len() {
            match self.last(agent) {
                Some(ActualAsk::UnderWay) => {
                    moves.push((Move::Arrive(agent), Kind::Due));
                    if self.budget.failures > 0 {
                        moves.push((Move::Refuse(agent), Kind::Possible));
                    }
                }
                Some(ActualAsk::Alive) => {
                    // A plan that must end does not rely on agents that end by themselves.
                    let by_itself = if to_end { Kind::Possible } else { Kind::Due };
                    moves.push((Move::End(agent, VerdictKind::Succeeded), by_itself));
                    if self.budget.failures > 0 {
                        moves.push((Move::End(agent, VerdictKind::Crashed), Kind::Possible));
                    }
                    // An unknown result makes a difference only if the plan may be resumed.
                    if self.budget.failures > 0 && self.budget.resumes > 0 {
                        moves.push((Move::End(agent, VerdictKind::Unknown), Kind::Possible));
                    }
                }
                _ => {}
            }
        }
        moves.extend(self.faults().into_iter().map(|it| (it, Kind::Possible)));
        moves
    }

    fn faults(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        let budget = self.budget;
        if budget.doubled > 0 {
            moves.extend(self.inbox.iter().map(|it| Move::DeliverTwice(*it)));
        }
        if budget.cancels > 0 {
            moves.push(Move::Cancel);
        }
        if budget.timeouts > 0 {
            moves.push(Move::TimeOver);
        }
        if budget.crashes > 0 {
            moves.extend([Move::Crash { arrives: true }, Move::Crash { arrives: false }]);
        }
        if budget.resumes > 0 {
            moves.extend([Move::Resume { replay: true }, Move::Resume { replay: false }]);
        }
        moves
    }

    /// Returns the state after a move, or the invariant that it violates.
    pub(crate) fn after(
        &self,
        it: Move,
        logic: &dyn PlanLogic,
        spec: &PlanSpec,
    ) -> Result<Self, String> {
        let mut next = self.clone();
        next.make(it, logic, spec)?;
        oracle::check(&next, spec)?;
        Ok(next)
    }

    fn make(&mut self, it: Move, logic: &dyn PlanLogic, spec: &PlanSpec) -> Result<(), String> {
        match it {
            Move::ReadAction(agent, ask) => drop(self.pending.insert((agent, ask))),
            Move::Ask(agent, ask) => self.ask(agent, ask, logic, spec)?,
            Move::Arrive(agent) => self.set_state(agent, ActualAsk::Alive, AskReport::Asked),
            Move::Refuse(agent) => {
                self.budget.failures -= 1;
                self.set_state(agent, ActualAsk::Refused, AskReport::Refused);
            }
            Move::End(agent, verdict) => {
                self.budget.failures -= u8::from(verdict != VerdictKind::Succeeded);
                self.set_state(agent, ActualAsk::Over(verdict), AskReport::Judged(verdict));
            }
            Move::Stop(agent, _) => {
                let verdict = VerdictKind::Cancelled;
                self.set_state(agent, ActualAsk::Over(verdict), AskReport::Judged(verdict));
            }
            Move::Deliver(message) => {
                self.inbox.remove(&message);
                self.deliver(message, logic, spec)?;
            }
            Move::DeliverTwice(message) => {
                self.budget.doubled -= 1;
                self.deliver(message, logic, spec)?;
            }
            Move::Cancel => {
                self.budget.cancels -= 1;
                let event = PlanEvent::CancelWanted { by: "ada".into() };
                let applied = logic.happened(&mut self.plan, spec, &event);
                self.cancelled |= applied.is_ok();
            }
            Move::TimeOver => {
                self.budget.timeouts -= 1;
                let applied = logic.happened(&mut self.plan, spec, &PlanEvent::TimeOver);
                self.timed_out |= applied.is_ok();
            }
            Move::Crash { arrives } => self.crash(arrives),
            Move::Finish => self.finish(logic, spec)?,
            Move::Resume { replay } => self.resume(replay, logic, spec),
        }
        Ok(())
    }

    fn set_state(&mut self, agent: usize, actual: ActualAsk, report: AskReport) {
        let asks = &mut self.asks[agent];
        let ask = u32::try_from(asks.len()).unwrap();
        *asks.last_mut().unwrap() = actual;
        self.inbox.insert((agent, ask, report));
    }

    fn ask(
        &mut self,
        agent: usize,
        ask: u32,
        logic: &dyn PlanLogic,
        spec: &PlanSpec,
    ) -> Result<(), String> {
        self.pending.remove(&(agent, ask));
        let event = PlanEvent::Asking { place: self.place(agent), ask };
        if logic.happened(&mut self.plan, spec, &event).is_ok() {
            oracle::check_ask(self, spec, agent)?;
            self.asks[agent].push(ActualAsk::UnderWay);
            if self.asks[agent].len() != ask as usize {
                return Err("an ask has the number of another one".into());
            }
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        (agent, ask, report): Message,
        logic: &dyn PlanLogic,
        spec: &PlanSpec,
    ) -> Result<(), String> {
        let place = self.place(agent);
        let session = session(agent, ask);
        let (usage, why) = (TokenUsage::default(), "busy".to_owned());
        let event = match report {
            AskReport::Asked => PlanEvent::Asked { place, ask, session },
            AskReport::NotAsked => PlanEvent::NotAsked { place, ask },
            AskReport::Refused => PlanEvent::Refused { place, ask, why },
            AskReport::Judged(verdict) => PlanEvent::Judged { place, ask, session, verdict, usage },
        };
        let applied = logic.happened(&mut self.plan, spec, &event);
        let unowned = applied == Err(IgnoredReason::Late) && report == AskReport::Asked;
        let alive = self.asks[agent].get(ask as usize - 1) == Some(&ActualAsk::Alive);
        if unowned && alive {
            return Err("a session of the plan is unowned".into());
        }
        self.failed |= oracle::has_failed(self, spec);
        Ok(())
    }

    /// The daemon crashes and restarts. The plan is on record, but messages are lost. Asks in
    /// progress create their sessions, or never will. Then the daemon looks for the sessions.
    fn crash(&mut self, arrives: bool) {
        self.budget.crashes -= 1;
        self.pending.clear();
        self.inbox.clear();
        for agent in 0..self.asks.len() {
            let Some(last) = self.asks[agent].last_mut() else { continue };
            if *last == ActualAsk::UnderWay {
                *last = if arrives { ActualAsk::Alive } else { ActualAsk::Nothing };
            }
            let reports: &[AskReport] = match *last {
                ActualAsk::UnderWay => &[],
                ActualAsk::Nothing | ActualAsk::Refused => &[AskReport::NotAsked],
                ActualAsk::Alive => &[AskReport::Asked],
                ActualAsk::Over(verdict) => &[AskReport::Asked, AskReport::Judged(verdict)],
            };
            let ask = u32::try_from(self.asks[agent].len()).unwrap();
            self.inbox.extend(reports.iter().map(|report| (agent, ask, *report)));
        }
    }

    fn finish(&mut self, logic: &dyn PlanLogic, spec: &PlanSpec) -> Result<(), String> {
        for action in logic.next(&self.plan, spec) {
            let PlanAction::Finish(outcome) = action else { continue };
            oracle::check_outcome(self, spec, &outcome)?;
            match logic.happened(&mut self.plan, spec, &PlanEvent::Finished) {
                Ok(()) => {}
                Err(why) => {
                    return Err(format!("the outcome was reported, but {why}"));
                }
            }
        }
        Ok(())
    }

    fn resume(&mut self, replay: bool, logic: &dyn PlanLogic, spec: &PlanSpec) {
        self.budget.resumes -= 1;
        let event = PlanEvent::Resumed { replay };
        if logic.happened(&mut self.plan, spec, &event).is_ok() {
            (self.cancelled, self.timed_out, self.failed) = (false, false, false);
            self.replay = replay;
        }
    }
}

/// A plan and the logic under test, for the search.
struct Exploration<'a> {
    logic: &'a dyn PlanLogic,
    spec: &'a PlanSpec,
}

impl System for Exploration<'_> {
    type State = Scene;
    type Move = Move;

    fn fingerprint(&self, scene: &Scene) -> u64 {
        scene.fingerprint()
    }

    fn moves(&self, scene: &Scene) -> Vec<(Move, bool)> {
        let moves = scene.moves(self.logic, self.spec).into_iter();
        moves.map(|(it, kind)| (it, kind == Kind::Due)).collect()
    }

    fn after(&self, scene: &Scene, it: Move) -> Result<Scene, String> {
        scene.after(it, self.logic, self.spec)
    }

    fn check_settled(&self, scene: &Scene) -> Result<(), String> {
        if scene.plan.finished { Ok(()) } else { Err("the plan never ends".into()) }
    }
}

/// Visits every state of a plan that can be reached within a budget.
pub(crate) fn explore(
    logic: &dyn PlanLogic,
    spec: &PlanSpec,
    budget: Budget,
) -> Result<SearchSize, Violation<Move>> {
    search::explore(&Exploration { logic, spec }, Scene::new(spec, budget))
}

/// The session of an ask.
fn session(agent: usize, ask: u32) -> SessionId {
    let number = u64::from(ask) * 100 + agent as u64;
    IdMaker::default().next(1_800_000_000_000 + number, 0)
}

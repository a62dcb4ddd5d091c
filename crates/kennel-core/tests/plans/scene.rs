//! A plan, and the world around it: what really became of each ask, and what was told of it so far.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use kennel_core::plan::{IgnoredReason, PlanAction, PlanEvent, PlanState};
use kennel_types::plan::{AgentPath, PlanSpec};
use kennel_types::{IdMaker, SessionId, TokenUsage, VerdictKind};

use crate::search::{self, SearchSize, System, Violation};
use crate::{Mind, oracle};

/// What may still go wrong, or be wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) cancels: u8,
    pub(crate) crashes: u8,
    /// Things that are told twice.
    pub(crate) doubled: u8,
    pub(crate) times: u8,
    pub(crate) resumes: u8,
    /// Agents that are refused, or end without an answer.
    pub(crate) failures: u8,
}

/// What really became of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Truth {
    /// It is being made.
    UnderWay,
    /// It came to nothing.
    Nothing,
    Refused,
    /// There is a session.
    Alive,
    Over(VerdictKind),
}

impl Truth {
    pub(crate) fn may_live(self) -> bool {
        matches!(self, Self::UnderWay | Self::Alive)
    }
}

/// What is told of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Told {
    Asked,
    NotAsked,
    Refused,
    Judged(VerdictKind),
}

/// Of which agent, by which ask, and what.
pub(crate) type Message = (usize, u32, Told);

/// Something that can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    /// An ask that was said once is taken up: by now something else may have happened.
    TakeUp(usize, u32),
    /// What was taken up is announced, and done if that is granted.
    Ask(usize, u32),
    Arrive(usize),
    Refuse(usize),
    End(usize, VerdictKind),
    Stop(usize, u32),
    Deliver(Message),
    /// And it will come again.
    DeliverTwice(Message),
    Cancel,
    TimeOver,
    /// With what is under way, or without.
    Crash {
        arrives: bool,
    },
    Finish,
    Resume {
        replay: bool,
    },
}

/// Whether it happens by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Due,
    Possible,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scene {
    pub(crate) plan: PlanState,
    /// Of each agent, each ask.
    pub(crate) truths: Vec<Vec<Truth>>,
    /// Asks that were taken up and not announced.
    hand: BTreeSet<(usize, u32)>,
    /// Told in any order.
    inbox: BTreeSet<Message>,
    pub(crate) budget: Budget,
    /// What is wanted, since it was last gone on with.
    pub(crate) cancelled: bool,
    pub(crate) time_over: bool,
    /// Whether the plan has heard of a failure that it can't go on with.
    pub(crate) doomed: bool,
    /// Whether what may have run may be repeated.
    pub(crate) replay: bool,
}

impl Scene {
    pub(crate) fn new(spec: &PlanSpec, budget: Budget) -> Self {
        let plan = PlanState::new(spec);
        Self {
            truths: vec![Vec::new(); plan.agents.len()],
            plan,
            hand: BTreeSet::new(),
            inbox: BTreeSet::new(),
            budget,
            cancelled: false,
            time_over: false,
            doomed: false,
            replay: false,
        }
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// The newest ask of an agent.
    pub(crate) fn last(&self, agent: usize) -> Option<Truth> {
        self.truths[agent].last().copied()
    }

    fn place(&self, agent: usize) -> AgentPath {
        self.plan.agents[agent].place.clone()
    }

    fn number_of(&self, place: &AgentPath) -> usize {
        self.plan.agents.iter().position(|agent| agent.place == *place).unwrap()
    }

    /// What can happen now.
    pub(crate) fn moves(&self, mind: &dyn Mind, spec: &PlanSpec) -> Vec<(Move, Kind)> {
        let mut moves = Vec::new();
        let to_end = self.cancelled || self.time_over || self.doomed;
        moves.extend(self.inbox.iter().map(|it| (Move::Deliver(*it), Kind::Due)));
        moves.extend(self.hand.iter().map(|it| (Move::Ask(it.0, it.1), Kind::Due)));
        for action in mind.next(&self.plan, spec) {
            match action {
                PlanAction::Ask { place, ask } => {
                    let agent = self.number_of(&place);
                    // Later only makes a difference if something may come before it.
                    let ahead = self.budget.cancels + self.budget.times > 0;
                    match self.hand.contains(&(agent, ask)) {
                        true => {}
                        false if ahead => moves.push((Move::TakeUp(agent, ask), Kind::Due)),
                        false => moves.push((Move::Ask(agent, ask), Kind::Due)),
                    }
                }
                PlanAction::Stop { place, ask } => {
                    let agent = self.number_of(&place);
                    if self.truths[agent].get(ask as usize - 1) == Some(&Truth::Alive) {
                        moves.push((Move::Stop(agent, ask), Kind::Due));
                    }
                }
                PlanAction::Finish(_) => moves.push((Move::Finish, Kind::Due)),
            }
        }
        for agent in 0..self.truths.len() {
            match self.last(agent) {
                Some(Truth::UnderWay) => {
                    moves.push((Move::Arrive(agent), Kind::Due));
                    if self.budget.failures > 0 {
                        moves.push((Move::Refuse(agent), Kind::Possible));
                    }
                }
                Some(Truth::Alive) => {
                    // If its end is wanted, it must not take the agent's own.
                    let by_itself = if to_end { Kind::Possible } else { Kind::Due };
                    moves.push((Move::End(agent, VerdictKind::Succeeded), by_itself));
                    if self.budget.failures > 0 {
                        moves.push((Move::End(agent, VerdictKind::Crashed), Kind::Possible));
                    }
                    // What it is makes a difference only if it may be repeated.
                    if self.budget.failures > 0 && self.budget.resumes > 0 {
                        moves.push((Move::End(agent, VerdictKind::Unknown), Kind::Possible));
                    }
                }
                _ => {}
            }
        }
        moves.extend(self.troubles().into_iter().map(|it| (it, Kind::Possible)));
        moves
    }

    fn troubles(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        let budget = self.budget;
        if budget.doubled > 0 {
            moves.extend(self.inbox.iter().map(|it| Move::DeliverTwice(*it)));
        }
        if budget.cancels > 0 {
            moves.push(Move::Cancel);
        }
        if budget.times > 0 {
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

    /// What is then; or what must not be.
    pub(crate) fn after(&self, it: Move, mind: &dyn Mind, spec: &PlanSpec) -> Result<Self, String> {
        let mut next = self.clone();
        next.make(it, mind, spec)?;
        oracle::check(&next, spec)?;
        Ok(next)
    }

    fn make(&mut self, it: Move, mind: &dyn Mind, spec: &PlanSpec) -> Result<(), String> {
        match it {
            Move::TakeUp(agent, ask) => drop(self.hand.insert((agent, ask))),
            Move::Ask(agent, ask) => self.ask(agent, ask, mind, spec)?,
            Move::Arrive(agent) => self.become_(agent, Truth::Alive, Told::Asked),
            Move::Refuse(agent) => {
                self.budget.failures -= 1;
                self.become_(agent, Truth::Refused, Told::Refused);
            }
            Move::End(agent, verdict) => {
                self.budget.failures -= u8::from(verdict != VerdictKind::Succeeded);
                self.become_(agent, Truth::Over(verdict), Told::Judged(verdict));
            }
            Move::Stop(agent, _) => {
                let verdict = VerdictKind::Cancelled;
                self.become_(agent, Truth::Over(verdict), Told::Judged(verdict));
            }
            Move::Deliver(message) => {
                self.inbox.remove(&message);
                self.deliver(message, mind, spec)?;
            }
            Move::DeliverTwice(message) => {
                self.budget.doubled -= 1;
                self.deliver(message, mind, spec)?;
            }
            Move::Cancel => {
                self.budget.cancels -= 1;
                let event = PlanEvent::CancelWanted { by: "ada".into() };
                let heard = mind.happened(&mut self.plan, spec, &event);
                self.cancelled |= heard.is_ok();
            }
            Move::TimeOver => {
                self.budget.times -= 1;
                let heard = mind.happened(&mut self.plan, spec, &PlanEvent::TimeOver);
                self.time_over |= heard.is_ok();
            }
            Move::Crash { arrives } => self.crash(arrives),
            Move::Finish => self.finish(mind, spec)?,
            Move::Resume { replay } => self.resume(replay, mind, spec),
        }
        Ok(())
    }

    fn become_(&mut self, agent: usize, truth: Truth, told: Told) {
        let asks = &mut self.truths[agent];
        let ask = u32::try_from(asks.len()).unwrap();
        *asks.last_mut().unwrap() = truth;
        self.inbox.insert((agent, ask, told));
    }

    fn ask(
        &mut self,
        agent: usize,
        ask: u32,
        mind: &dyn Mind,
        spec: &PlanSpec,
    ) -> Result<(), String> {
        self.hand.remove(&(agent, ask));
        let event = PlanEvent::Asking { place: self.place(agent), ask };
        if mind.happened(&mut self.plan, spec, &event).is_ok() {
            oracle::check_ask(self, spec, agent)?;
            self.truths[agent].push(Truth::UnderWay);
            if self.truths[agent].len() != ask as usize {
                return Err("an ask without a number of its own".into());
            }
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        (agent, ask, told): Message,
        mind: &dyn Mind,
        spec: &PlanSpec,
    ) -> Result<(), String> {
        let place = self.place(agent);
        let session = session(agent, ask);
        let (usage, why) = (TokenUsage::default(), "busy".to_owned());
        let event = match told {
            Told::Asked => PlanEvent::Asked { place, ask, session },
            Told::NotAsked => PlanEvent::NotAsked { place, ask },
            Told::Refused => PlanEvent::Refused { place, ask, why },
            Told::Judged(verdict) => PlanEvent::Judged { place, ask, session, verdict, usage },
        };
        let heard = mind.happened(&mut self.plan, spec, &event);
        let unowned = heard == Err(IgnoredReason::Late) && told == Told::Asked;
        let alive = self.truths[agent].get(ask as usize - 1) == Some(&Truth::Alive);
        if unowned && alive {
            return Err("a session that the plan has asked for is nobody's".into());
        }
        self.doomed |= oracle::is_doomed(self, spec);
        Ok(())
    }

    /// Whoever carries out is gone, and comes back: the plan is on record, what was told is not.
    /// What is under way arrives, or never will. Then the agents of the plan are looked for.
    fn crash(&mut self, arrives: bool) {
        self.budget.crashes -= 1;
        self.hand.clear();
        self.inbox.clear();
        for agent in 0..self.truths.len() {
            let Some(last) = self.truths[agent].last_mut() else { continue };
            if *last == Truth::UnderWay {
                *last = if arrives { Truth::Alive } else { Truth::Nothing };
            }
            let told: &[Told] = match *last {
                Truth::UnderWay => &[],
                Truth::Nothing | Truth::Refused => &[Told::NotAsked],
                Truth::Alive => &[Told::Asked],
                Truth::Over(verdict) => &[Told::Asked, Told::Judged(verdict)],
            };
            let ask = u32::try_from(self.truths[agent].len()).unwrap();
            self.inbox.extend(told.iter().map(|told| (agent, ask, *told)));
        }
    }

    fn finish(&mut self, mind: &dyn Mind, spec: &PlanSpec) -> Result<(), String> {
        for action in mind.next(&self.plan, spec) {
            let PlanAction::Finish(outcome) = action else { continue };
            oracle::check_outcome(self, spec, &outcome)?;
            match mind.happened(&mut self.plan, spec, &PlanEvent::Finished) {
                Ok(()) => {}
                Err(why) => {
                    return Err(format!("its outcome was told, and {why}"));
                }
            }
        }
        Ok(())
    }

    fn resume(&mut self, replay: bool, mind: &dyn Mind, spec: &PlanSpec) {
        self.budget.resumes -= 1;
        let event = PlanEvent::Resumed { replay };
        if mind.happened(&mut self.plan, spec, &event).is_ok() {
            (self.cancelled, self.time_over, self.doomed) = (false, false, false);
            self.replay = replay;
        }
    }
}

/// A plan and the logic under test, for the search.
struct Exploration<'a> {
    mind: &'a dyn Mind,
    spec: &'a PlanSpec,
}

impl System for Exploration<'_> {
    type State = Scene;
    type Move = Move;

    fn fingerprint(&self, scene: &Scene) -> u64 {
        scene.fingerprint()
    }

    fn moves(&self, scene: &Scene) -> Vec<(Move, bool)> {
        let moves = scene.moves(self.mind, self.spec).into_iter();
        moves.map(|(it, kind)| (it, kind == Kind::Due)).collect()
    }

    fn after(&self, scene: &Scene, it: Move) -> Result<Scene, String> {
        scene.after(it, self.mind, self.spec)
    }

    fn check_settled(&self, scene: &Scene) -> Result<(), String> {
        if scene.plan.finished { Ok(()) } else { Err("it never comes to its end".into()) }
    }
}

/// Visits every state of a plan that can be reached within a budget.
pub(crate) fn explore(
    mind: &dyn Mind,
    spec: &PlanSpec,
    budget: Budget,
) -> Result<SearchSize, Violation<Move>> {
    search::explore(&Exploration { mind, spec }, Scene::new(spec, budget))
}

/// The session of an ask.
fn session(agent: usize, ask: u32) -> SessionId {
    let number = u64::from(ask) * 100 + agent as u64;
    IdMaker::default().next(1_800_000_000_000 + number, 0)
}

//! The daemon, its sessions, and everything around them, as one state.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use kennel_core::{Effect, Event, Session};

use crate::action::{Action, Kind, Setting};
use crate::event;
use crate::model::{Row, SessionModel};
use crate::oracle;
use crate::search::{self, SearchSize, System, Violation};
use crate::summary::FastHasher;

/// Effects, each with the number of its session.
pub(crate) type Effects = Vec<(usize, Effect)>;

/// A daemon with the core under test.
pub(crate) trait TestDaemon {
    type Memory: Clone;

    /// Starts a new daemon, which reads the register.
    fn restore(&self, rows: &[Option<Row>]) -> (Self::Memory, Effects);
    fn step(&self, memory: &mut Self::Memory, which: usize, event: &Event) -> Effects;
    fn session<'a>(&self, memory: &'a Self::Memory, which: usize) -> Option<&'a Session>;
    fn hash<H: Hasher>(&self, memory: &Self::Memory, hasher: &mut H);

    /// Handles a client's request for another launch.
    fn resume(&self, _: &mut Self::Memory) -> Effects {
        Vec::new()
    }

    /// Returns whether a client's stop may apply to this session.
    fn may_stop(&self, _: &Self::Memory, _: usize) -> bool {
        true
    }

    /// Checks what must hold between the models of sessions.
    fn check_models(&self, _: &[SessionModel]) -> Result<(), String> {
        Ok(())
    }

    /// Checks what must hold between sessions.
    fn check(&self, _: &Self::Memory) -> Result<(), String> {
        Ok(())
    }
}

/// How many faults and requests may still occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Faults of any kind: crashes, restarts, failed effects, repeated messages.
    pub(crate) faults: u8,
    pub(crate) stops: u8,
    pub(crate) resumes: u8,
}

/// One state.
#[derive(Debug, Clone)]
pub(crate) struct Scene<M> {
    /// `None` while there is no daemon.
    pub(crate) memory: Option<M>,
    pub(crate) models: Vec<SessionModel>,
    pub(crate) budget: Budget,
}

/// A move in a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    At(usize, Action),
    Resume,
    KillDaemon { written: bool },
    StartDaemon,
    Reboot,
}

impl<M: Clone> Scene<M> {
    pub(crate) fn fingerprint(&self, daemon: &impl TestDaemon<Memory = M>) -> u64 {
        let mut hasher = FastHasher(0);
        self.memory.is_some().hash(&mut hasher);
        if let Some(memory) = &self.memory {
            daemon.hash(memory, &mut hasher);
        }
        self.models.hash(&mut hasher);
        self.budget.hash(&mut hasher);
        hasher.finish()
    }

    fn session<'a>(
        &'a self,
        daemon: &impl TestDaemon<Memory = M>,
        which: usize,
    ) -> Option<&'a Session> {
        self.memory.as_ref().and_then(|memory| daemon.session(memory, which))
    }

    /// Returns all moves, those that are due first.
    pub(crate) fn moves(
        &self,
        daemon: &impl TestDaemon<Memory = M>,
        setting: Setting,
    ) -> Vec<(Move, Kind)> {
        let mut moves = Vec::new();
        for (which, model) in self.models.iter().enumerate() {
            let mut due = 0;
            for action in model.actions(setting, self.session(daemon, which)) {
                let kind = action.kind(model.work.linked);
                due += usize::from(kind == Kind::Due);
                if kind == Kind::Due && due > 1 && setting.orderly {
                    continue;
                }
                let meant = self.memory.as_ref().is_some_and(|it| daemon.may_stop(it, which));
                if action == Action::Stop && !meant {
                    continue;
                }
                if self.budget.afford(action, kind).is_some() {
                    moves.push((Move::At(which, action), kind));
                }
            }
        }
        let (memory, budget) = (self.memory.is_some(), self.budget);
        if !memory {
            moves.push((Move::StartDaemon, Kind::Due));
        }
        if memory && budget.faults > 0 {
            // A row that need not be durable may survive or not.
            let lossy = self.models.iter().any(|model| model.row != model.synced);
            moves.push((Move::KillDaemon { written: true }, Kind::Fault));
            moves.extend(lossy.then_some((Move::KillDaemon { written: false }, Kind::Fault)));
        }
        if memory && budget.resumes > 0 {
            moves.push((Move::Resume, Kind::Choice));
        }
        if budget.faults > 0 {
            moves.push((Move::Reboot, Kind::Fault));
        }
        moves
    }

    /// Returns the state after a move.
    pub(crate) fn after(
        &self,
        it: Move,
        daemon: &impl TestDaemon<Memory = M>,
        setting: Setting,
    ) -> Result<Self, String> {
        let mut next = self.clone();
        match it {
            Move::At(which, action) => next.act(which, action, daemon, setting)?,
            Move::Resume => {
                next.budget.resumes -= 1;
                let effects = next.memory.as_mut().map(|memory| daemon.resume(memory));
                next.carry_out(effects.unwrap_or_default(), daemon)?;
            }
            Move::KillDaemon { written } => {
                next.budget.faults -= 1;
                next.memory = None;
                next.models.iter_mut().for_each(|model| model.lose_daemon(written));
            }
            Move::Reboot => {
                next.budget.faults -= 1;
                next.memory = None;
                next.models.iter_mut().for_each(SessionModel::reboot);
            }
            Move::StartDaemon => {
                let rows: Vec<_> = next.models.iter().map(|model| model.row.clone()).collect();
                let (memory, effects) = daemon.restore(&rows);
                next.memory = Some(memory);
                next.carry_out(effects, daemon)?;
            }
        }
        for which in 0..next.models.len() {
            let session = next.session(daemon, which);
            if let (Some(before), Some(after)) = (self.session(daemon, which), session) {
                oracle::check_step(before, after)?;
            }
            oracle::check(&next.models[which], session)?;
        }
        daemon.check_models(&next.models)?;
        if let Some(memory) = &next.memory {
            daemon.check(memory)?;
        }
        Ok(next)
    }

    fn act(
        &mut self,
        which: usize,
        action: Action,
        daemon: &impl TestDaemon<Memory = M>,
        setting: Setting,
    ) -> Result<(), String> {
        let model = &mut self.models[which];
        let kind = action.kind(model.work.linked);
        let stops = self.budget.stops;
        self.budget = self.budget.afford(action, kind).ok_or("not affordable")?;
        let message = model.act(action, setting)?;
        let event = match action {
            Action::Stop => {
                model.history.stop_requested = true;
                // The last stop has no grace.
                Some(event::stop(u8::from(stops == 1)))
            }
            Action::LeaveQueue => Some(Event::TurnCame),
            Action::Forget => Some(Event::Forgotten { by: "a user".into() }),
            Action::Retry => {
                model.work.timer = false;
                Some(Event::RetryDue)
            }
            _ => message.map(Event::from),
        };
        let (Some(event), Some(memory)) = (event, &mut self.memory) else { return Ok(()) };
        let effects = daemon.step(memory, which, &event);
        self.carry_out(effects, daemon)
    }

    pub(crate) fn carry_out(
        &mut self,
        effects: Effects,
        daemon: &impl TestDaemon<Memory = M>,
    ) -> Result<(), String> {
        for (which, effect) in effects {
            let session = self.memory.as_ref().and_then(|memory| daemon.session(memory, which));
            let session = session.ok_or("2: an effect for an unknown session")?;
            self.models[which].carry_out(&effect, session)?;
        }
        Ok(())
    }

    /// Checks a state in which nothing is due.
    pub(crate) fn is_settled(
        &self,
        daemon: &impl TestDaemon<Memory = M>,
        setting: Setting,
    ) -> Result<(), String> {
        for (which, model) in self.models.iter().enumerate() {
            oracle::is_settled(model, self.session(daemon, which), setting)?;
        }
        Ok(())
    }
}

/// The core under test in a setting, for the search.
struct Exploration<'a, D> {
    daemon: &'a D,
    setting: Setting,
}

impl<D: TestDaemon> System for Exploration<'_, D>
where
    D::Memory: Debug,
{
    type State = Scene<D::Memory>;
    type Move = Move;

    fn fingerprint(&self, scene: &Self::State) -> u64 {
        scene.fingerprint(self.daemon)
    }

    fn moves(&self, scene: &Self::State) -> Vec<(Move, bool)> {
        let moves = scene.moves(self.daemon, self.setting).into_iter();
        moves.map(|(it, kind)| (it, kind == Kind::Due)).collect()
    }

    fn after(&self, scene: &Self::State, it: Move) -> Result<Self::State, String> {
        scene.after(it, self.daemon, self.setting)
    }

    fn check_settled(&self, scene: &Self::State) -> Result<(), String> {
        scene.is_settled(self.daemon, self.setting)
    }
}

/// Visits every state that can be reached from `start`.
pub(crate) fn explore<D: TestDaemon>(
    daemon: &D,
    setting: Setting,
    start: Scene<D::Memory>,
) -> Result<SearchSize, Violation<Move>>
where
    D::Memory: Debug,
{
    search::explore(&Exploration { daemon, setting }, start)
}

impl Budget {
    pub(crate) fn of(faults: u8, stops: u8) -> Self {
        Self { faults, stops, resumes: 0 }
    }

    fn afford(self, action: Action, kind: Kind) -> Option<Self> {
        let mut rest = self;
        match (action, kind) {
            (Action::Stop, _) => rest.stops = rest.stops.checked_sub(1)?,
            (_, Kind::Due | Kind::Choice) => {}
            (_, Kind::Fault) => rest.faults = rest.faults.checked_sub(1)?,
        }
        Some(rest)
    }
}

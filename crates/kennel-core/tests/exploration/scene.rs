//! Daemon, sessions and all that is around them, as one state.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use kennel_core::{Effect, Event, Session};

use crate::action::{Action, Kind, Setting};
use crate::event;
use crate::gist::Fast;
use crate::oracle;
use crate::plot::{Plot, Row};
use crate::search::{self, SearchSize, System, Violation};

/// What an effect is for.
pub(crate) type Effects = Vec<(usize, Effect)>;

/// A daemon's mind: the core under test, around what it has in memory.
pub(crate) trait Mind {
    type Memory: Clone;

    /// A new daemon reads the register.
    fn restore(&self, rows: &[Option<Row>]) -> (Self::Memory, Effects);
    fn step(&self, memory: &mut Self::Memory, which: usize, event: &Event) -> Effects;
    fn session<'a>(&self, memory: &'a Self::Memory, which: usize) -> Option<&'a Session>;
    fn hash<H: Hasher>(&self, memory: &Self::Memory, hasher: &mut H);

    /// A client asks for another launch.
    fn resume(&self, _: &mut Self::Memory) -> Effects {
        Vec::new()
    }

    /// Whether clients may mean this one.
    fn may_stop(&self, _: &Self::Memory, _: usize) -> bool {
        true
    }

    /// What must hold between what is around sessions.
    fn check_plots(&self, _: &[Plot]) -> Result<(), String> {
        Ok(())
    }

    /// What must hold between sessions.
    fn check(&self, _: &Self::Memory) -> Result<(), String> {
        Ok(())
    }
}

/// How much may still go wrong, and be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Of any kind: deaths, restarts, failed effects, repeated messages.
    pub(crate) trouble: u8,
    pub(crate) stops: u8,
    pub(crate) resumes: u8,
}

/// One state.
#[derive(Debug, Clone)]
pub(crate) struct Scene<M> {
    /// None while there is no daemon.
    pub(crate) memory: Option<M>,
    pub(crate) plots: Vec<Plot>,
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
    pub(crate) fn fingerprint(&self, mind: &impl Mind<Memory = M>) -> u64 {
        let mut hasher = Fast(0);
        self.memory.is_some().hash(&mut hasher);
        if let Some(memory) = &self.memory {
            mind.hash(memory, &mut hasher);
        }
        self.plots.hash(&mut hasher);
        self.budget.hash(&mut hasher);
        hasher.finish()
    }

    fn session<'a>(&'a self, mind: &impl Mind<Memory = M>, which: usize) -> Option<&'a Session> {
        self.memory.as_ref().and_then(|memory| mind.session(memory, which))
    }

    /// All moves, those that are due first.
    pub(crate) fn moves(
        &self,
        mind: &impl Mind<Memory = M>,
        setting: Setting,
    ) -> Vec<(Move, Kind)> {
        let mut moves = Vec::new();
        for (which, plot) in self.plots.iter().enumerate() {
            let mut due = 0;
            for action in plot.actions(setting, self.session(mind, which)) {
                let kind = action.kind(plot.hands.linked);
                due += usize::from(kind == Kind::Due);
                if kind == Kind::Due && due > 1 && setting.orderly {
                    continue;
                }
                let meant = self.memory.as_ref().is_some_and(|it| mind.may_stop(it, which));
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
        if memory && budget.trouble > 0 {
            // What need not be durable may be written or not.
            let lossy = self.plots.iter().any(|plot| plot.row != plot.synced);
            moves.push((Move::KillDaemon { written: true }, Kind::Trouble));
            moves.extend(lossy.then_some((Move::KillDaemon { written: false }, Kind::Trouble)));
        }
        if memory && budget.resumes > 0 {
            moves.push((Move::Resume, Kind::Choice));
        }
        if budget.trouble > 0 {
            moves.push((Move::Reboot, Kind::Trouble));
        }
        moves
    }

    /// The state after a move.
    pub(crate) fn after(
        &self,
        it: Move,
        mind: &impl Mind<Memory = M>,
        setting: Setting,
    ) -> Result<Self, String> {
        let mut next = self.clone();
        match it {
            Move::At(which, action) => next.act(which, action, mind, setting)?,
            Move::Resume => {
                next.budget.resumes -= 1;
                let effects = next.memory.as_mut().map(|memory| mind.resume(memory));
                next.take_up(effects.unwrap_or_default(), mind)?;
            }
            Move::KillDaemon { written } => {
                next.budget.trouble -= 1;
                next.memory = None;
                next.plots.iter_mut().for_each(|plot| plot.lose_daemon(written));
            }
            Move::Reboot => {
                next.budget.trouble -= 1;
                next.memory = None;
                next.plots.iter_mut().for_each(Plot::reboot);
            }
            Move::StartDaemon => {
                let rows: Vec<_> = next.plots.iter().map(|plot| plot.row.clone()).collect();
                let (memory, effects) = mind.restore(&rows);
                next.memory = Some(memory);
                next.take_up(effects, mind)?;
            }
        }
        for which in 0..next.plots.len() {
            let session = next.session(mind, which);
            if let (Some(before), Some(after)) = (self.session(mind, which), session) {
                oracle::check_step(before, after)?;
            }
            oracle::check(&next.plots[which], session)?;
        }
        mind.check_plots(&next.plots)?;
        if let Some(memory) = &next.memory {
            mind.check(memory)?;
        }
        Ok(next)
    }

    fn act(
        &mut self,
        which: usize,
        action: Action,
        mind: &impl Mind<Memory = M>,
        setting: Setting,
    ) -> Result<(), String> {
        let plot = &mut self.plots[which];
        let kind = action.kind(plot.hands.linked);
        let stops = self.budget.stops;
        self.budget = self.budget.afford(action, kind).ok_or("not affordable")?;
        let message = plot.act(action, setting)?;
        let event = match action {
            Action::Stop => {
                plot.history.stop_asked = true;
                // The last one is in a hurry.
                Some(event::stop(u8::from(stops == 1)))
            }
            Action::CallUp => Some(Event::TurnCame),
            Action::Forget => Some(Event::Forgotten { by: "a person".into() }),
            Action::Retry => {
                plot.hands.timer = false;
                Some(Event::RetryDue)
            }
            _ => message.map(Event::from),
        };
        let (Some(event), Some(memory)) = (event, &mut self.memory) else { return Ok(()) };
        let effects = mind.step(memory, which, &event);
        self.take_up(effects, mind)
    }

    pub(crate) fn take_up(
        &mut self,
        effects: Effects,
        mind: &impl Mind<Memory = M>,
    ) -> Result<(), String> {
        for (which, effect) in effects {
            let session = self.memory.as_ref().and_then(|memory| mind.session(memory, which));
            let session = session.ok_or("2: an effect for nobody")?;
            self.plots[which].take_up(&effect, session)?;
        }
        Ok(())
    }

    /// Whether it is good that nothing is due.
    pub(crate) fn is_settled(
        &self,
        mind: &impl Mind<Memory = M>,
        setting: Setting,
    ) -> Result<(), String> {
        for (which, plot) in self.plots.iter().enumerate() {
            oracle::is_settled(plot, self.session(mind, which), setting)?;
        }
        Ok(())
    }
}

/// The core under test in a setting, for the search.
struct Exploration<'a, D> {
    mind: &'a D,
    setting: Setting,
}

impl<D: Mind> System for Exploration<'_, D>
where
    D::Memory: Debug,
{
    type State = Scene<D::Memory>;
    type Move = Move;

    fn fingerprint(&self, scene: &Self::State) -> u64 {
        scene.fingerprint(self.mind)
    }

    fn moves(&self, scene: &Self::State) -> Vec<(Move, bool)> {
        let moves = scene.moves(self.mind, self.setting).into_iter();
        moves.map(|(it, kind)| (it, kind == Kind::Due)).collect()
    }

    fn after(&self, scene: &Self::State, it: Move) -> Result<Self::State, String> {
        scene.after(it, self.mind, self.setting)
    }

    fn check_settled(&self, scene: &Self::State) -> Result<(), String> {
        scene.is_settled(self.mind, self.setting)
    }
}

/// Visits every state that can be reached from this one.
pub(crate) fn explore<D: Mind>(
    mind: &D,
    setting: Setting,
    start: Scene<D::Memory>,
) -> Result<SearchSize, Violation<Move>>
where
    D::Memory: Debug,
{
    search::explore(&Exploration { mind, setting }, start)
}

impl Budget {
    pub(crate) fn of(trouble: u8, stops: u8) -> Self {
        Self { trouble, stops, resumes: 0 }
    }

    fn afford(self, action: Action, kind: Kind) -> Option<Self> {
        let mut rest = self;
        match (action, kind) {
            (Action::Stop, _) => rest.stops = rest.stops.checked_sub(1)?,
            (_, Kind::Due | Kind::Choice) => {}
            (_, Kind::Trouble) => rest.trouble = rest.trouble.checked_sub(1)?,
        }
        Some(rest)
    }
}

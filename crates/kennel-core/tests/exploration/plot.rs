//! Everything around one session but for the daemon's memory: disk, keeper, pen, and what is on its
//! way.

use std::rc::Rc;

use kennel_core::{Effect, Session, Underway};
use kennel_types::{OwedKind, Phase, RelaunchState};

use crate::gist::{Gist, fingerprint};

/// How a program really ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Truth {
    /// By itself, with 1.
    Code,
    /// By a stop, with TERM.
    Term,
    /// With its keeper, with KILL.
    Kill,
    /// With the machine: nobody can know.
    Reboot,
}

/// What a keeper says at the end, and leaves in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Told {
    /// None if it never ran.
    pub(crate) exit: Option<Truth>,
    /// Whether the launch failed.
    pub(crate) failed: bool,
    /// Whether no daemon came back.
    pub(crate) lease_over: bool,
}

/// How far a keeper is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Keeper {
    /// There never was one.
    None,
    /// The yard was asked for one. The lock is held by the message.
    Requested,
    /// It has greeted.
    Waiting,
    /// The process is behind its gate.
    Gated,
    /// The gate was opened.
    Running,
    /// The agent ended by itself; what it left may linger.
    Exited,
    /// The end is under way.
    Ending {
        /// Since no daemon came back.
        lease_over: bool,
    },
    /// The pen is empty, the outcome waits to be taken.
    Over,
    /// Killed.
    Dead,
    /// Gone in peace.
    Left,
}

impl Keeper {
    pub(crate) fn is_alive(self) -> bool {
        !matches!(self, Self::None | Self::Requested | Self::Dead | Self::Left)
    }
}

/// The agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Agent {
    None,
    Gated,
    Alive,
    Dead(Truth),
}

/// From daemon to keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Order {
    Go,
    Open,
    Dismiss,
    Stop,
    Release,
}

/// To the daemon's core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Message {
    Hello,
    NotForked,
    Born,
    Opened,
    Exited(Truth),
    Gone(Told),
    KeeperLost,
    Recorded,
    RecordFailed,
    /// What could still be told: whether it ran, and how it ended.
    PenEmpty(Option<Option<Truth>>),
    PenStillAlive,
    PenUnobservable,
    PenFailed,
    Found(Found),
    CleanedUp(Thing),
    CleanUpFailed(Thing),
    Kept,
    Made,
    MakeFailed,
    Ready,
    Reported,
    Overdue,
}

/// What is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Thing {
    Files,
    Worktree,
}

impl Thing {
    fn of(what: &OwedKind) -> Self {
        match what {
            OwedKind::Worktree { .. } => Self::Worktree,
            OwedKind::RuntimeFiles | OwedKind::PenFolder { .. } => Self::Files,
        }
    }
}

/// How much of a worktree there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tree {
    None,
    Half,
    There,
    /// And it stays.
    Kept,
}

/// What a probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Found {
    Waiting,
    Gated,
    Running { ending: bool, exit: Option<Truth> },
    Over(Told),
    NoKeeper,
    Silent,
    Rebooted,
    Failed,
}

/// How far the end of a pen without its keeper is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EndPen {
    Asked,
    KeeperKilled,
}

/// A session as it is on record.
#[derive(Clone)]
pub(crate) struct Row(pub(crate) Rc<Session>, u64);

impl Row {
    pub(crate) fn of(session: &Session) -> Self {
        let row = Session { underway: Underway::default(), ..session.clone() };
        let gist = fingerprint(&Gist::of(&row));
        Self(Rc::new(row), gist)
    }
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} {:?}", self.0.phase, self.0.wanted, self.0.exit)
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Row {}

impl std::hash::Hash for Row {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.1.hash(state);
    }
}

/// What the daemon has in hand. It dies with the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Hands {
    /// Durable ones; the others are written at once, and may still be lost.
    pub(crate) writes: Vec<Row>,
    /// What comes after those.
    pub(crate) write_after: Option<Row>,
    pub(crate) start_keeper: bool,
    pub(crate) end_pen: Option<EndPen>,
    pub(crate) probe: bool,
    pub(crate) clean_up: Bag<Thing>,
    /// The worktree is being made.
    pub(crate) make: bool,
    /// Somebody looks for a sign that it is ready.
    pub(crate) awaiting: bool,
    pub(crate) timer: bool,
    /// Delivered in any order.
    pub(crate) inbox: Bag<Message>,
    /// There is a connection to the keeper, or will be as soon as it exists.
    pub(crate) linked: bool,
    /// The agent's pidfd is held.
    pub(crate) pidfd: bool,
}

/// What has happened, for the oracle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct History {
    pub(crate) asked_for_keeper: bool,
    pub(crate) forked: bool,
    pub(crate) born: bool,
    pub(crate) granted: bool,
    pub(crate) ran: bool,
    pub(crate) stop_asked: bool,
    pub(crate) keeper_killed: bool,
    pub(crate) daemon_died: bool,
    /// And had asked for a keeper.
    pub(crate) launch_left: bool,
    /// It had to wait in line, or for a worktree.
    pub(crate) waited: bool,
    /// A worktree was asked for.
    pub(crate) make_asked: bool,
    /// After a keeper was asked for: what is launched later is of this boot.
    pub(crate) rebooted: bool,
}

/// Things that come in any order: kept sorted, so that the same things are the same state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bag<T>(Vec<T>);

impl<T> Default for Bag<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Ord> Bag<T> {
    pub(crate) fn put(&mut self, thing: T) {
        if let Err(at) = self.0.binary_search(&thing) {
            self.0.insert(at, thing);
        }
    }

    pub(crate) fn take(&mut self, thing: T) {
        self.0.retain(|other| *other != thing);
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Plot {
    /// What a new daemon would read.
    pub(crate) row: Option<Row>,
    /// What a new machine would read.
    pub(crate) synced: Option<Row>,
    /// The outcome file.
    pub(crate) outcome: Option<Told>,
    /// Whether the files that are owed exist.
    pub(crate) files: bool,
    pub(crate) tree: Tree,
    pub(crate) hands: Hands,
    pub(crate) keeper: Keeper,
    /// Obeyed in any order. Those of a dead daemon stay.
    pub(crate) orders: Bag<Order>,
    pub(crate) agent: Agent,
    /// Something that the agent started.
    pub(crate) leftover: bool,
    pub(crate) history: History,
}

impl Plot {
    /// Before anything was done for a session.
    pub(crate) fn new() -> Self {
        Self {
            row: None,
            synced: None,
            outcome: None,
            files: false,
            tree: Tree::None,
            hands: Hands::default(),
            keeper: Keeper::None,
            orders: Bag::default(),
            agent: Agent::None,
            leftover: false,
            history: History::default(),
        }
    }

    pub(crate) fn pen_is_empty(&self) -> bool {
        matches!(self.agent, Agent::None | Agent::Dead(_)) && !self.leftover
    }

    /// How the agent ended, as its parent or a pidfd would tell.
    pub(crate) fn exit(&self) -> Option<Truth> {
        match self.agent {
            Agent::Dead(truth) if self.history.ran => Some(truth),
            _ => None,
        }
    }

    /// The keeper says something to the daemon, if there is a connection.
    pub(crate) fn say(&mut self, message: Message) {
        if self.hands.linked {
            self.hands.inbox.put(message);
        }
    }

    /// Begins to carry out what the core has asked for; `session` is as it is now.
    pub(crate) fn take_up(&mut self, effect: &Effect, session: &Session) -> Result<(), String> {
        match effect {
            Effect::Record { durable: true } => {
                self.hands.writes.push(Row::of(session));
                self.hands.write_after = None;
            }
            Effect::Record { durable: false } => {
                let written = self.hands.writes.is_empty();
                let row = if written { &mut self.row } else { &mut self.hands.write_after };
                *row = Some(Row::of(session));
            }
            Effect::StartKeeper => {
                self.allow_keeper(session)?;
                if std::mem::replace(&mut self.history.asked_for_keeper, true) {
                    return Err("7: a second keeper was asked for".into());
                }
                self.hands.start_keeper = true;
                self.hands.linked = true;
            }
            Effect::Go => self.order(Order::Go),
            Effect::Grant => {
                self.allow_grant(session)?;
                self.order(Order::Open);
            }
            Effect::Dismiss => self.order(Order::Dismiss),
            Effect::Stop { .. } => self.order(Order::Stop),
            Effect::Release => {
                let recorded = self.synced.as_ref().is_some_and(|row| row.0.phase >= Phase::Reaped);
                if !recorded {
                    return Err("10: the keeper was let go before the outcome was durable".into());
                }
                self.order(Order::Release);
            }
            Effect::EndPen => self.hands.end_pen = Some(EndPen::Asked),
            Effect::Probe => self.hands.probe = true,
            Effect::CleanUp { what } => self.hands.clean_up.put(self.allow_clean_up(what)?),
            Effect::Make { .. } => {
                self.allow_making(session)?;
                self.hands.make = true;
            }
            Effect::AwaitReady => self.hands.awaiting = true,
            Effect::StopAwaiting => self.hands.awaiting = false,
            Effect::RetryLater => self.hands.timer = true,
        }
        Ok(())
    }

    fn allow_grant(&mut self, session: &Session) -> Result<(), String> {
        if session.is_stop_wanted() || self.history.stop_asked {
            return Err("3: granted although a stop is wanted".into());
        }
        if session.launch.identity.is_none() {
            return Err("1: granted before its identity was known".into());
        }
        if std::mem::replace(&mut self.history.granted, true) {
            return Err("7: granted twice".into());
        }
        if self.history.launch_left {
            return Err("8: granted a launch that a former daemon left".into());
        }
        Ok(())
    }

    fn allow_keeper(&self, session: &Session) -> Result<(), String> {
        let cancelled = self.synced.as_ref().is_some_and(|row| row.0.is_stop_wanted());
        if session.is_stop_wanted() || cancelled {
            return Err("3: a keeper for what was called off".into());
        }
        let allowed = self.synced.as_ref().is_some_and(|row| row.0.phase >= Phase::Reserved);
        if self.history.waited && !allowed {
            return Err("1: a keeper before a durable row allows one".into());
        }
        if session.spec.worktree.is_some() && self.tree != Tree::There {
            return Err("9: a keeper before its worktree".into());
        }
        Ok(())
    }

    fn allow_making(&mut self, session: &Session) -> Result<(), String> {
        if session.is_stop_wanted() {
            return Err("3: a worktree for what was called off".into());
        }
        let owed = |row: &Row| row.0.owed.iter().any(|it| Thing::of(&it.what) == Thing::Worktree);
        if !self.synced.as_ref().is_some_and(owed) {
            return Err("9: a worktree that is not on record".into());
        }
        if std::mem::replace(&mut self.history.make_asked, true) {
            return Err("7: a worktree made twice".into());
        }
        Ok(())
    }

    fn allow_clean_up(&self, what: &OwedKind) -> Result<Thing, String> {
        let thing = Thing::of(what);
        let in_use = !self.pen_is_empty() || self.hands.make;
        if thing == Thing::Worktree && in_use {
            return Err("9: a worktree is removed while somebody works in it".into());
        }
        Ok(thing)
    }

    fn order(&mut self, order: Order) {
        if self.hands.linked {
            self.orders.put(order);
        }
    }

    /// The daemon dies, with or without what it was about to write.
    pub(crate) fn lose_daemon(&mut self, written: bool) {
        if self.hands.make {
            self.tree = Tree::Half;
        }
        self.hands = Hands::default();
        if !written {
            self.row = self.synced.clone();
        }
        self.history.daemon_died = true;
        self.history.launch_left |= self.history.asked_for_keeper;
        // Whoever asked for the end had no answer yet, unless that is on record, and hears that
        // there is no daemon.
        let called_off = |row: &Row| matches!(row.0.relaunch, RelaunchState::CalledOff { .. });
        let heard = |row: &Row| row.0.is_stop_wanted() || called_off(row);
        self.history.stop_asked &= self.row.as_ref().is_some_and(heard);
    }

    /// The machine restarts.
    pub(crate) fn reboot(&mut self) {
        self.lose_daemon(false);
        self.history.rebooted |= self.history.asked_for_keeper;
        // It leaves only when the disk has its outcome.
        if self.keeper != Keeper::Left {
            self.outcome = None;
        }
        if self.keeper.is_alive() || self.keeper == Keeper::Requested {
            self.keeper = Keeper::Dead;
        }
        self.orders.clear();
        self.agent = match self.agent {
            Agent::Alive => Agent::Dead(Truth::Reboot),
            Agent::Gated => Agent::None,
            agent => agent,
        };
        self.leftover = false;
    }
}

//! A model of everything around one session except the daemon's memory: disk, keeper, pen, and
//! messages on their way.

use std::rc::Rc;

use kennel_core::{Effect, Session, Underway};
use kennel_types::{OwedKind, Phase, RelaunchState};

use crate::summary::{SessionSummary, fingerprint};

/// How a program actually ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ActualExit {
    /// By itself, with code 1.
    Code,
    /// By a stop, with TERM.
    Term,
    /// By KILL, after its keeper died.
    Kill,
    /// By a restart of the machine, so its status is unknown.
    Reboot,
}

/// What a keeper reports at the end, and writes to its outcome file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeeperOutcome {
    /// `None` if the program never ran.
    pub(crate) exit: Option<ActualExit>,
    /// Whether the launch failed.
    pub(crate) failed: bool,
    /// Whether no daemon connected within the lease.
    pub(crate) lease_over: bool,
}

/// The state of a keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Keeper {
    /// It was never started.
    None,
    /// It was requested from the yard. The request holds the lock.
    Requested,
    /// It has sent its hello.
    Waiting,
    /// The process waits behind its gate.
    Gated,
    /// The gate was opened.
    Running,
    /// The agent exited by itself. Processes that it left may linger.
    Exited,
    /// The end is under way.
    Ending {
        /// Whether the reason is that no daemon connected within the lease.
        lease_over: bool,
    },
    /// The pen is empty, and the keeper waits for a release.
    Over,
    /// It was killed.
    Dead,
    /// It exited by itself.
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
    Dead(ActualExit),
}

/// A request of the daemon to the keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Order {
    Go,
    Open,
    Dismiss,
    Stop,
    Release,
}

/// A message to the daemon's core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Message {
    Hello,
    NotForked,
    Born,
    Opened,
    Exited(ActualExit),
    Gone(KeeperOutcome),
    KeeperLost,
    Recorded,
    RecordFailed,
    /// Contains whether the program ran and how it ended, if that is still known.
    PenEmpty(Option<Option<ActualExit>>),
    PenStillAlive,
    PenUnobservable,
    PenFailed,
    Found(Found),
    CleanedUp(OwedItem),
    CleanUpFailed(OwedItem),
    Kept,
    Made,
    MakeFailed,
    Ready,
    Reported,
    Overdue,
}

/// An owed resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum OwedItem {
    Files,
    Worktree,
}

impl OwedItem {
    fn of(what: &OwedKind) -> Self {
        match what {
            OwedKind::Worktree { .. } => Self::Worktree,
            OwedKind::RuntimeFiles | OwedKind::PenFolder { .. } => Self::Files,
        }
    }
}

/// The state of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WorktreeState {
    None,
    Half,
    There,
    /// Kept because it contains work.
    Kept,
}

/// What a probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Found {
    Waiting,
    Gated,
    Running { ending: bool, exit: Option<ActualExit> },
    Over(KeeperOutcome),
    NoKeeper,
    Silent,
    Rebooted,
    Failed,
}

/// The progress of ending a pen without its keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EndPen {
    Requested,
    KeeperKilled,
}

/// A session as it is recorded.
#[derive(Clone)]
pub(crate) struct Row(pub(crate) Rc<Session>, u64);

impl Row {
    pub(crate) fn of(session: &Session) -> Self {
        let row = Session { underway: Underway::default(), ..session.clone() };
        let summary = fingerprint(&SessionSummary::of(&row));
        Self(Rc::new(row), summary)
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

/// The daemon's work in progress. It is lost with the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct DaemonWork {
    /// Durable writes. Other rows are written at once, and may still be lost.
    pub(crate) writes: Vec<Row>,
    /// The row to write after those.
    pub(crate) write_after: Option<Row>,
    pub(crate) start_keeper: bool,
    pub(crate) end_pen: Option<EndPen>,
    pub(crate) probe: bool,
    pub(crate) clean_up: Bag<OwedItem>,
    /// Whether the worktree is being created.
    pub(crate) make: bool,
    /// Whether the daemon watches for readiness.
    pub(crate) awaiting: bool,
    pub(crate) timer: bool,
    /// Messages, delivered in any order.
    pub(crate) inbox: Bag<Message>,
    /// Whether the daemon is connected to the keeper, or will be as soon as it exists.
    pub(crate) linked: bool,
    /// Whether the daemon holds the agent's pidfd.
    pub(crate) pidfd: bool,
}

/// What has happened so far, for the oracle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct History {
    pub(crate) keeper_requested: bool,
    pub(crate) forked: bool,
    pub(crate) born: bool,
    pub(crate) granted: bool,
    pub(crate) ran: bool,
    pub(crate) stop_requested: bool,
    pub(crate) keeper_killed: bool,
    pub(crate) daemon_died: bool,
    /// Whether a daemon died after it had requested a keeper.
    pub(crate) launch_left: bool,
    /// Whether the session had to wait in the queue, or for a worktree.
    pub(crate) waited: bool,
    pub(crate) worktree_requested: bool,
    /// Whether the machine restarted after a keeper was requested.
    pub(crate) rebooted: bool,
}

/// Unordered items: kept sorted, so that equal sets are equal states.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bag<T>(Vec<T>);

impl<T> Default for Bag<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Ord> Bag<T> {
    pub(crate) fn put(&mut self, item: T) {
        if let Err(at) = self.0.binary_search(&item) {
            self.0.insert(at, item);
        }
    }

    pub(crate) fn take(&mut self, item: T) {
        self.0.retain(|other| *other != item);
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Everything around one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionModel {
    /// The row that a new daemon would read.
    pub(crate) row: Option<Row>,
    /// The row that a daemon would read after a restart of the machine.
    pub(crate) synced: Option<Row>,
    /// The content of the outcome file.
    pub(crate) outcome: Option<KeeperOutcome>,
    /// Whether the owed files exist.
    pub(crate) files: bool,
    pub(crate) worktree: WorktreeState,
    pub(crate) work: DaemonWork,
    pub(crate) keeper: Keeper,
    /// Carried out in any order. Those of a dead daemon stay.
    pub(crate) orders: Bag<Order>,
    pub(crate) agent: Agent,
    /// Whether a process that the agent started is left.
    pub(crate) leftover: bool,
    pub(crate) history: History,
}

impl SessionModel {
    /// The state before anything was done for a session.
    pub(crate) fn new() -> Self {
        Self {
            row: None,
            synced: None,
            outcome: None,
            files: false,
            worktree: WorktreeState::None,
            work: DaemonWork::default(),
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

    /// How the agent ended, as its parent or a pidfd would report.
    pub(crate) fn exit(&self) -> Option<ActualExit> {
        match self.agent {
            Agent::Dead(actual) if self.history.ran => Some(actual),
            _ => None,
        }
    }

    /// Sends a message of the keeper to the daemon, if they are connected.
    pub(crate) fn send(&mut self, message: Message) {
        if self.work.linked {
            self.work.inbox.put(message);
        }
    }

    /// Begins to carry out an effect. `session` is the current state in memory.
    pub(crate) fn carry_out(&mut self, effect: &Effect, session: &Session) -> Result<(), String> {
        match effect {
            Effect::Record { durable: true } => {
                self.work.writes.push(Row::of(session));
                self.work.write_after = None;
            }
            Effect::Record { durable: false } => {
                let written = self.work.writes.is_empty();
                let row = if written { &mut self.row } else { &mut self.work.write_after };
                *row = Some(Row::of(session));
            }
            Effect::StartKeeper => {
                self.allow_keeper(session)?;
                if std::mem::replace(&mut self.history.keeper_requested, true) {
                    return Err("7: a second keeper was requested".into());
                }
                self.work.start_keeper = true;
                self.work.linked = true;
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
                    return Err("10: the keeper was released before the outcome was durable".into());
                }
                self.order(Order::Release);
            }
            Effect::EndPen => self.work.end_pen = Some(EndPen::Requested),
            Effect::Probe => self.work.probe = true,
            Effect::CleanUp { what } => self.work.clean_up.put(self.allow_clean_up(what)?),
            Effect::Make { .. } => {
                self.allow_making(session)?;
                self.work.make = true;
            }
            Effect::AwaitReady => self.work.awaiting = true,
            Effect::StopAwaiting => self.work.awaiting = false,
            Effect::RetryLater => self.work.timer = true,
        }
        Ok(())
    }

    fn allow_grant(&mut self, session: &Session) -> Result<(), String> {
        if session.is_stop_wanted() || self.history.stop_requested {
            return Err("3: granted although a stop is wanted".into());
        }
        if session.launch.identity.is_none() {
            return Err("1: granted before its identity was known".into());
        }
        if std::mem::replace(&mut self.history.granted, true) {
            return Err("7: granted twice".into());
        }
        if self.history.launch_left {
            return Err("8: granted a launch of an earlier daemon".into());
        }
        Ok(())
    }

    fn allow_keeper(&self, session: &Session) -> Result<(), String> {
        let cancelled = self.synced.as_ref().is_some_and(|row| row.0.is_stop_wanted());
        if session.is_stop_wanted() || cancelled {
            return Err("3: a keeper was requested after a stop".into());
        }
        let allowed = self.synced.as_ref().is_some_and(|row| row.0.phase >= Phase::Reserved);
        if self.history.waited && !allowed {
            return Err("1: a keeper was requested before a durable row allows one".into());
        }
        if session.spec.worktree.is_some() && self.worktree != WorktreeState::There {
            return Err("9: a keeper was requested before the worktree exists".into());
        }
        Ok(())
    }

    fn allow_making(&mut self, session: &Session) -> Result<(), String> {
        if session.is_stop_wanted() {
            return Err("3: a worktree was requested after a stop".into());
        }
        let owed =
            |row: &Row| row.0.owed.iter().any(|it| OwedItem::of(&it.what) == OwedItem::Worktree);
        if !self.synced.as_ref().is_some_and(owed) {
            return Err("9: a worktree was requested that is not on record".into());
        }
        if std::mem::replace(&mut self.history.worktree_requested, true) {
            return Err("7: a worktree was requested twice".into());
        }
        Ok(())
    }

    fn allow_clean_up(&self, what: &OwedKind) -> Result<OwedItem, String> {
        let item = OwedItem::of(what);
        let in_use = !self.pen_is_empty() || self.work.make;
        if item == OwedItem::Worktree && in_use {
            return Err("9: a worktree is removed while it is in use".into());
        }
        Ok(item)
    }

    fn order(&mut self, order: Order) {
        if self.work.linked {
            self.orders.put(order);
        }
    }

    /// The daemon dies. `written`: whether its non-durable writes survive.
    pub(crate) fn lose_daemon(&mut self, written: bool) {
        if self.work.make {
            self.worktree = WorktreeState::Half;
        }
        self.work = DaemonWork::default();
        if !written {
            self.row = self.synced.clone();
        }
        self.history.daemon_died = true;
        self.history.launch_left |= self.history.keeper_requested;
        // The client that requested the stop got no answer yet unless the stop is on record. It
        // sees that there is no daemon.
        let called_off = |row: &Row| matches!(row.0.relaunch, RelaunchState::CalledOff { .. });
        let stopped = |row: &Row| row.0.is_stop_wanted() || called_off(row);
        self.history.stop_requested &= self.row.as_ref().is_some_and(stopped);
    }

    /// The machine restarts.
    pub(crate) fn reboot(&mut self) {
        self.lose_daemon(false);
        self.history.rebooted |= self.history.keeper_requested;
        // A keeper exits only when its outcome is on disk.
        if self.keeper != Keeper::Left {
            self.outcome = None;
        }
        if self.keeper.is_alive() || self.keeper == Keeper::Requested {
            self.keeper = Keeper::Dead;
        }
        self.orders.clear();
        self.agent = match self.agent {
            Agent::Alive => Agent::Dead(ActualExit::Reboot),
            Agent::Gated => Agent::None,
            agent => agent,
        };
        self.leftover = false;
    }
}

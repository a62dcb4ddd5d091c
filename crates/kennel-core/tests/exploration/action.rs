//! What can happen next around one session, and whether it is due, a choice, or a fault.

use kennel_core::Session;
use kennel_types::{Phase, Readiness};

use crate::model::{
    ActualExit, Agent, EndPen, Found, Keeper, KeeperOutcome, Message, Order, OwedItem,
    SessionModel, WorktreeState,
};

/// One action of a process, or one fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A message reaches the core.
    Deliver(Message),
    /// A message reaches the core, and will be delivered again.
    DeliverTwice(Message),
    /// The register writes the next row.
    Write,
    /// The register can't write the row.
    FailWrite,
    /// The daemon sends its request to the yard.
    RequestKeeper,
    /// The yard forks a keeper.
    Fork,
    /// The yard can't fork a keeper.
    FailFork,
    /// The keeper carries out an order.
    Obey(Order),
    /// The keeper carries out an order, which will arrive again.
    ObeyTwice(Order),
    /// The keeper can't create the process, or the process can't execute the program.
    FailLaunch(Order),
    /// The agent exits by itself.
    AgentExits { leftover: bool },
    /// The agent ends because the keeper ends it.
    AgentEnds,
    /// The keeper sees the pen empty.
    TreeGone,
    /// The keeper ends a launch that was not granted in time.
    GiveUp,
    /// No daemon connected within the lease.
    LeaseOver,
    /// The keeper exits without a release: there is no daemon, and its outcome is on disk.
    Leave,
    /// The keeper is killed.
    KillKeeper,
    /// A process behind a gate exits because its keeper is dead.
    GateCloses,
    /// The yard ends orphans.
    YardEndsOrphans,
    /// The daemon begins to end a pen: it kills the keeper.
    KillSilentKeeper,
    /// The daemon inspects the pen.
    InspectPen,
    /// The daemon can't inspect the pen.
    FailInspectPen,
    /// The daemon finds a process that it can't end.
    FindSurvivor,
    /// The daemon probes the launch.
    Probe,
    /// The probe fails.
    FailProbe,
    /// The probe gets no answer.
    ProbeTimesOut,
    /// An owed resource is removed.
    CleanUp(OwedItem),
    /// An owed resource can't be removed.
    FailCleanUp(OwedItem),
    /// The worktree contains work and is kept.
    Keep,
    /// The worktree is created.
    Make,
    /// Only a part of the worktree is created.
    FailMake,
    /// The daemon sees the sign of readiness.
    BecomeReady,
    /// The agent reports that it is ready.
    ReportReady,
    /// The readiness timeout expires.
    Overdue,
    /// The session may leave the queue.
    LeaveQueue,
    /// The retry timer fires.
    Retry,
    /// The keeper is alive but does not answer.
    KeeperHangs,
    /// A client requests a stop.
    Stop,
    /// A user gives up the session.
    Forget,
}

/// Whether an action must happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It happens eventually.
    Due,
    /// It may happen.
    Choice,
    /// It is a fault.
    Fault,
}

impl Action {
    pub(crate) fn kind(self, linked: bool) -> Kind {
        match self {
            Self::AgentExits { .. }
            | Self::Stop
            | Self::Forget
            | Self::LeaseOver
            | Self::Keep
            | Self::BecomeReady
            | Self::ReportReady
            | Self::Overdue
            | Self::LeaveQueue => Kind::Choice,
            Self::GiveUp if linked => Kind::Fault,
            Self::DeliverTwice(_)
            | Self::FailWrite
            | Self::FailFork
            | Self::ObeyTwice(_)
            | Self::FailLaunch(_)
            | Self::KillKeeper
            | Self::FailInspectPen
            | Self::FindSurvivor
            | Self::FailProbe
            | Self::ProbeTimesOut
            | Self::FailCleanUp(_)
            | Self::FailMake
            | Self::KeeperHangs => Kind::Fault,
            _ => Kind::Due,
        }
    }
}

/// Properties of the host for a whole exploration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// Whether the yard lives: without it no process reaps orphans, and no pen is seen empty.
    pub(crate) yard: bool,
    /// Whether a pidfd reports the exit status to processes other than the parent.
    pub(crate) kernel_reports: bool,
    /// Whether the due actions around one session happen in their usual order. Then only the
    /// interleaving of sessions is explored.
    pub(crate) orderly: bool,
}

impl SessionModel {
    /// Returns all possible actions, those that are due first.
    pub(crate) fn actions(&self, setting: Setting, session: Option<&Session>) -> Vec<Action> {
        let mut actions = Vec::new();
        for message in self.work.inbox.all() {
            actions.push(Action::Deliver(*message));
            // The register sends each answer once.
            if !matches!(message, Message::Recorded | Message::RecordFailed) {
                actions.push(Action::DeliverTwice(*message));
            }
        }
        if !self.work.writes.is_empty() {
            actions.extend([Action::Write, Action::FailWrite]);
        }
        self.keeper_actions(&mut actions);
        self.orphan_actions(setting, &mut actions);
        self.daemon_actions(setting, session, &mut actions);
        actions
    }

    fn keeper_actions(&self, actions: &mut Vec<Action>) {
        match self.keeper {
            Keeper::Requested => actions.extend([Action::Fork, Action::FailFork]),
            Keeper::Waiting => actions.extend((!self.work.linked).then_some(Action::GiveUp)),
            Keeper::Gated => actions.push(Action::GiveUp),
            Keeper::Running => {
                let exits = [false, true].map(|leftover| Action::AgentExits { leftover });
                actions.extend(exits);
                actions.extend((!self.work.linked).then_some(Action::LeaseOver));
            }
            Keeper::Ending { .. } if self.agent == Agent::Alive => actions.push(Action::AgentEnds),
            Keeper::Exited | Keeper::Ending { .. } => actions.push(Action::TreeGone),
            Keeper::Over => actions.extend((!self.work.linked).then_some(Action::Leave)),
            Keeper::None | Keeper::Dead | Keeper::Left => {}
        }
        if self.keeper.is_alive() {
            for order in self.orders.all() {
                actions.extend([Action::Obey(*order), Action::ObeyTwice(*order)]);
                if matches!(
                    (self.keeper, order),
                    (Keeper::Waiting, Order::Go) | (Keeper::Gated, Order::Open)
                ) {
                    actions.push(Action::FailLaunch(*order));
                }
            }
            actions.push(Action::KillKeeper);
            if self.work.linked {
                actions.push(Action::KeeperHangs);
            }
        }
    }

    fn orphan_actions(&self, setting: Setting, actions: &mut Vec<Action>) {
        if self.keeper != Keeper::Dead {
            return;
        }
        if self.agent == Agent::Gated {
            actions.push(Action::GateCloses);
        }
        if setting.yard && (self.agent == Agent::Alive || self.leftover) {
            actions.push(Action::YardEndsOrphans);
        }
    }

    fn daemon_actions(
        &self,
        setting: Setting,
        session: Option<&Session>,
        actions: &mut Vec<Action>,
    ) {
        let work = &self.work;
        if work.start_keeper {
            actions.push(Action::RequestKeeper);
        }
        // Until the yard has answered, a keeper may still be started.
        let requested = work.start_keeper || self.keeper == Keeper::Requested;
        match work.end_pen {
            Some(EndPen::Requested) if !requested => actions.push(Action::KillSilentKeeper),
            Some(EndPen::KeeperKilled) => {
                let seen = self.pen_is_empty() || !setting.yard;
                actions.extend(seen.then_some(Action::InspectPen));
                actions.extend([Action::FailInspectPen, Action::FindSurvivor]);
            }
            Some(EndPen::Requested) | None => {}
        }
        if work.probe {
            actions.extend([Action::Probe, Action::FailProbe]);
            actions.extend(self.keeper.is_alive().then_some(Action::ProbeTimesOut));
        }
        for item in work.clean_up.all() {
            actions.extend([Action::CleanUp(*item), Action::FailCleanUp(*item)]);
            let whole = *item == OwedItem::Worktree && self.worktree == WorktreeState::There;
            actions.extend(whole.then_some(Action::Keep));
        }
        if work.make {
            actions.extend([Action::Make, Action::FailMake]);
        }
        if let Some(session) = session {
            self.ready_actions(session, actions);
            actions.push(Action::Stop);
            actions.extend((session.phase == Phase::Queued).then_some(Action::LeaveQueue));
            actions.extend((session.phase == Phase::Lost).then_some(Action::Forget));
        }
        if work.timer {
            actions.push(Action::Retry);
        }
    }

    /// A sign or report of readiness may be delayed for any time.
    fn ready_actions(&self, session: &Session, actions: &mut Vec<Action>) {
        if self.work.awaiting {
            let seen = session.spec.ready != Readiness::Report;
            actions.extend(seen.then_some(Action::BecomeReady));
            actions.push(Action::Overdue);
        }
        let reports = session.spec.ready == Readiness::Report && self.agent == Agent::Alive;
        actions.extend(reports.then_some(Action::ReportReady));
    }

    /// Carries out an action. Returns the message that reaches the core, if any.
    pub(crate) fn act(
        &mut self,
        action: Action,
        setting: Setting,
    ) -> Result<Option<Message>, String> {
        match action {
            Action::Deliver(message) => {
                self.work.inbox.take(message);
                return Ok(Some(message));
            }
            Action::DeliverTwice(message) => return Ok(Some(message)),
            Action::Write => self.write(),
            Action::FailWrite => {
                self.work.writes.remove(0);
                self.work.inbox.put(Message::RecordFailed);
            }
            Action::CleanUp(item) => {
                self.work.clean_up.take(item);
                match item {
                    OwedItem::Files => self.files = false,
                    OwedItem::Worktree => self.worktree = WorktreeState::None,
                }
                self.work.inbox.put(Message::CleanedUp(item));
            }
            Action::FailCleanUp(item) => {
                self.work.clean_up.take(item);
                self.work.inbox.put(Message::CleanUpFailed(item));
            }
            Action::Keep => {
                self.work.clean_up.take(OwedItem::Worktree);
                self.worktree = WorktreeState::Kept;
                self.work.inbox.put(Message::Kept);
            }
            Action::Make | Action::FailMake => {
                self.work.make = false;
                let done = action == Action::Make;
                self.worktree = if done { WorktreeState::There } else { WorktreeState::Half };
                self.work.inbox.put(if done { Message::Made } else { Message::MakeFailed });
            }
            Action::BecomeReady => self.work.inbox.put(Message::Ready),
            Action::ReportReady => self.work.inbox.put(Message::Reported),
            Action::Overdue => self.work.inbox.put(Message::Overdue),
            Action::RequestKeeper => {
                self.work.start_keeper = false;
                self.files = true;
                self.keeper = Keeper::Requested;
            }
            Action::KeeperHangs => self.send(Message::KeeperLost),
            Action::Probe | Action::FailProbe | Action::ProbeTimesOut => {
                self.work.probe = false;
                let found = match action {
                    Action::Probe => self.probe(),
                    Action::FailProbe => Found::Failed,
                    _ => Found::Silent,
                };
                self.work.inbox.put(Message::Found(found));
            }
            Action::KillSilentKeeper
            | Action::InspectPen
            | Action::FailInspectPen
            | Action::FindSurvivor => {
                self.end_pen(action, setting);
            }
            Action::Stop | Action::Forget | Action::Retry | Action::LeaveQueue => {}
            _ => self.keeper_moves(action)?,
        }
        Ok(None)
    }

    fn write(&mut self) {
        let row = self.work.writes.remove(0);
        self.synced = Some(row.clone());
        self.work.inbox.put(Message::Recorded);
        self.row = Some(self.work.write_after.take().unwrap_or(row));
    }

    fn end_pen(&mut self, action: Action, setting: Setting) {
        if action == Action::KillSilentKeeper {
            self.work.end_pen = Some(EndPen::KeeperKilled);
            if self.keeper.is_alive() {
                self.kill_keeper();
            }
            return;
        }
        self.work.end_pen = None;
        let known =
            self.work.pidfd || self.row.as_ref().is_some_and(|row| row.0.launch.identity.is_some());
        let message = match action {
            Action::InspectPen if setting.yard => {
                let exit = self.exit().filter(|_| self.work.pidfd && setting.kernel_reports);
                // The keeper may have written its outcome before it was killed.
                let known = self.outcome.map(|outcome| outcome.exit);
                Message::PenEmpty(known.or(exit.map(Some)))
            }
            Action::InspectPen => {
                if known && self.agent == Agent::Alive {
                    self.agent = Agent::Dead(ActualExit::Kill);
                }
                Message::PenUnobservable
            }
            Action::FailInspectPen => Message::PenFailed,
            _ => Message::PenStillAlive,
        };
        self.work.inbox.put(message);
    }

    /// Returns what a probe finds. Connects to the keeper if it is alive.
    fn probe(&mut self) -> Found {
        let found = match self.keeper {
            _ if self.outcome.is_some() => Found::Over(self.outcome.unwrap()),
            _ if self.history.rebooted => Found::Rebooted,
            Keeper::Waiting => Found::Waiting,
            Keeper::Gated => Found::Gated,
            Keeper::Running | Keeper::Exited => Found::Running { ending: false, exit: self.exit() },
            Keeper::Ending { .. } => Found::Running { ending: true, exit: self.exit() },
            Keeper::Requested => Found::Silent,
            Keeper::Over | Keeper::None | Keeper::Dead | Keeper::Left => Found::NoKeeper,
        };
        if self.keeper.is_alive() {
            self.work.linked = true;
            self.work.pidfd = !matches!(self.keeper, Keeper::Waiting | Keeper::Over);
        }
        found
    }

    pub(crate) fn kill_keeper(&mut self) {
        self.keeper = Keeper::Dead;
        self.history.keeper_killed = true;
        self.hang_up();
    }

    /// The keeper's end of the connection closes.
    pub(crate) fn hang_up(&mut self) {
        self.orders.clear();
        self.send(Message::KeeperLost);
        self.work.linked = false;
    }

    pub(crate) fn over(&mut self, outcome: KeeperOutcome) {
        self.keeper = Keeper::Over;
        self.outcome = Some(outcome);
        self.send(Message::Gone(outcome));
    }
}

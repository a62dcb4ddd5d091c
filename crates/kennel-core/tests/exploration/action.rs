//! What can happen next around one session: who moves, and whether it is due anyway, a choice, or
//! trouble.

use kennel_core::Session;
use kennel_types::{Phase, Readiness};

use crate::plot::{Agent, EndPen, Found, Keeper, Message, Order, Plot, Thing, Told, Tree, Truth};

/// One move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A message reaches the core.
    Deliver(Message),
    /// The same, and it will come again.
    DeliverTwice(Message),
    /// The register writes the next row.
    Write,
    /// It can't.
    FailWrite,
    /// The daemon sends its request to the yard.
    AskYard,
    /// The yard forks a keeper.
    Fork,
    /// It can't.
    FailFork,
    /// The keeper takes an order.
    Obey(Order),
    /// The same, and it will come again.
    ObeyTwice(Order),
    /// The keeper can't make the process, or that can't become the program.
    FailLaunch(Order),
    /// The agent exits by itself.
    AgentExits { leftover: bool },
    /// The agent ends, since the keeper ends it.
    AgentEnds,
    /// The keeper sees the pen empty.
    TreeGone,
    /// The keeper ends a launch that nobody grants.
    GiveUp,
    /// No daemon came back.
    LeaseOver,
    /// The keeper leaves without being let go: there is no daemon, and the disk has its outcome.
    Leave,
    /// Somebody kills the keeper.
    KillKeeper,
    /// A process behind a gate that nobody holds dies.
    GateShuts,
    /// The yard ends what fell to it.
    YardEnds,
    /// The daemon ends a pen: it kills the keeper.
    KillSilentKeeper,
    /// Then it looks.
    LookAtPen,
    /// Or fails to.
    FailToLook,
    /// Or finds somebody who does not die.
    FindSurvivor,
    /// The daemon probes.
    Probe,
    /// Or fails to.
    FailProbe,
    /// Or gets no answer.
    HearNothing,
    /// What is owed is removed.
    CleanUp(Thing),
    /// Or not.
    FailCleanUp(Thing),
    /// Or has something of value.
    Keep,
    /// The worktree is made.
    Make,
    /// Or only a part of it.
    FailMake,
    /// A sign is seen.
    SeeReady,
    /// The agent says so.
    ReportReady,
    /// The time is over.
    Overdue,
    /// Its turn has come.
    CallUp,
    /// The time for another try.
    Retry,
    /// The keeper, though alive, does not answer.
    FindSilent,
    /// A client asks for the end.
    Stop,
    /// A person gives it up.
    Forget,
}

/// What a move means for fairness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It happens sooner or later.
    Due,
    /// It may happen.
    Choice,
    /// It should not happen, and can.
    Trouble,
}

impl Action {
    pub(crate) fn kind(self, linked: bool) -> Kind {
        match self {
            Self::AgentExits { .. }
            | Self::Stop
            | Self::Forget
            | Self::LeaseOver
            | Self::Keep
            | Self::SeeReady
            | Self::ReportReady
            | Self::Overdue
            | Self::CallUp => Kind::Choice,
            Self::GiveUp if linked => Kind::Trouble,
            Self::DeliverTwice(_)
            | Self::FailWrite
            | Self::FailFork
            | Self::ObeyTwice(_)
            | Self::FailLaunch(_)
            | Self::KillKeeper
            | Self::FailToLook
            | Self::FindSurvivor
            | Self::FailProbe
            | Self::HearNothing
            | Self::FailCleanUp(_)
            | Self::FailMake
            | Self::FindSilent => Kind::Trouble,
            _ => Kind::Due,
        }
    }
}

/// What holds for a whole run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// Whether the yard lives: without it nobody catches orphans, and a pen can't be seen empty.
    pub(crate) yard: bool,
    /// Whether a pidfd tells the status to those who are not the parent.
    pub(crate) kernel_tells: bool,
    /// Whether what is due around one session comes in its usual order: then only how sessions
    /// interleave is explored.
    pub(crate) orderly: bool,
}

impl Plot {
    /// All that can happen here now, what is due first.
    pub(crate) fn actions(&self, setting: Setting, session: Option<&Session>) -> Vec<Action> {
        let mut actions = Vec::new();
        for message in self.hands.inbox.all() {
            actions.push(Action::Deliver(*message));
            // The register answers once.
            if !matches!(message, Message::Recorded | Message::RecordFailed) {
                actions.push(Action::DeliverTwice(*message));
            }
        }
        if !self.hands.writes.is_empty() {
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
            Keeper::Waiting => actions.extend((!self.hands.linked).then_some(Action::GiveUp)),
            Keeper::Gated => actions.push(Action::GiveUp),
            Keeper::Running => {
                let exits = [false, true].map(|leftover| Action::AgentExits { leftover });
                actions.extend(exits);
                actions.extend((!self.hands.linked).then_some(Action::LeaseOver));
            }
            Keeper::Ending { .. } if self.agent == Agent::Alive => actions.push(Action::AgentEnds),
            Keeper::Exited | Keeper::Ending { .. } => actions.push(Action::TreeGone),
            Keeper::Over => actions.extend((!self.hands.linked).then_some(Action::Leave)),
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
            if self.hands.linked {
                actions.push(Action::FindSilent);
            }
        }
    }

    fn orphan_actions(&self, setting: Setting, actions: &mut Vec<Action>) {
        if self.keeper != Keeper::Dead {
            return;
        }
        if self.agent == Agent::Gated {
            actions.push(Action::GateShuts);
        }
        if setting.yard && (self.agent == Agent::Alive || self.leftover) {
            actions.push(Action::YardEnds);
        }
    }

    fn daemon_actions(
        &self,
        setting: Setting,
        session: Option<&Session>,
        actions: &mut Vec<Action>,
    ) {
        let hands = &self.hands;
        if hands.start_keeper {
            actions.push(Action::AskYard);
        }
        // Until the yard has answered, nobody can say that no keeper will be.
        let asked = hands.start_keeper || self.keeper == Keeper::Requested;
        match hands.end_pen {
            Some(EndPen::Asked) if !asked => actions.push(Action::KillSilentKeeper),
            Some(EndPen::KeeperKilled) => {
                let seen = self.pen_is_empty() || !setting.yard;
                actions.extend(seen.then_some(Action::LookAtPen));
                actions.extend([Action::FailToLook, Action::FindSurvivor]);
            }
            Some(EndPen::Asked) | None => {}
        }
        if hands.probe {
            actions.extend([Action::Probe, Action::FailProbe]);
            actions.extend(self.keeper.is_alive().then_some(Action::HearNothing));
        }
        for thing in hands.clean_up.all() {
            actions.extend([Action::CleanUp(*thing), Action::FailCleanUp(*thing)]);
            let whole = *thing == Thing::Worktree && self.tree == Tree::There;
            actions.extend(whole.then_some(Action::Keep));
        }
        if hands.make {
            actions.extend([Action::Make, Action::FailMake]);
        }
        if let Some(session) = session {
            self.ready_actions(session, actions);
            actions.push(Action::Stop);
            actions.extend((session.phase == Phase::Queued).then_some(Action::CallUp));
            actions.extend((session.phase == Phase::Lost).then_some(Action::Forget));
        }
        if hands.timer {
            actions.push(Action::Retry);
        }
    }

    /// What was seen or told is on its way for as long as it likes.
    fn ready_actions(&self, session: &Session, actions: &mut Vec<Action>) {
        if self.hands.awaiting {
            let seen = session.spec.ready != Readiness::Report;
            actions.extend(seen.then_some(Action::SeeReady));
            actions.push(Action::Overdue);
        }
        let reports = session.spec.ready == Readiness::Report && self.agent == Agent::Alive;
        actions.extend(reports.then_some(Action::ReportReady));
    }

    /// Makes a move. What reaches the core comes back.
    pub(crate) fn act(
        &mut self,
        action: Action,
        setting: Setting,
    ) -> Result<Option<Message>, String> {
        match action {
            Action::Deliver(message) => {
                self.hands.inbox.take(message);
                return Ok(Some(message));
            }
            Action::DeliverTwice(message) => return Ok(Some(message)),
            Action::Write => self.write(),
            Action::FailWrite => {
                self.hands.writes.remove(0);
                self.hands.inbox.put(Message::RecordFailed);
            }
            Action::CleanUp(thing) => {
                self.hands.clean_up.take(thing);
                match thing {
                    Thing::Files => self.files = false,
                    Thing::Worktree => self.tree = Tree::None,
                }
                self.hands.inbox.put(Message::CleanedUp(thing));
            }
            Action::FailCleanUp(thing) => {
                self.hands.clean_up.take(thing);
                self.hands.inbox.put(Message::CleanUpFailed(thing));
            }
            Action::Keep => {
                self.hands.clean_up.take(Thing::Worktree);
                self.tree = Tree::Kept;
                self.hands.inbox.put(Message::Kept);
            }
            Action::Make | Action::FailMake => {
                self.hands.make = false;
                let done = action == Action::Make;
                self.tree = if done { Tree::There } else { Tree::Half };
                self.hands.inbox.put(if done { Message::Made } else { Message::MakeFailed });
            }
            Action::SeeReady => self.hands.inbox.put(Message::Ready),
            Action::ReportReady => self.hands.inbox.put(Message::Reported),
            Action::Overdue => self.hands.inbox.put(Message::Overdue),
            Action::AskYard => {
                self.hands.start_keeper = false;
                self.files = true;
                self.keeper = Keeper::Requested;
            }
            Action::FindSilent => self.say(Message::KeeperLost),
            Action::Probe | Action::FailProbe | Action::HearNothing => {
                self.hands.probe = false;
                let found = match action {
                    Action::Probe => self.look(),
                    Action::FailProbe => Found::Failed,
                    _ => Found::Silent,
                };
                self.hands.inbox.put(Message::Found(found));
            }
            Action::KillSilentKeeper
            | Action::LookAtPen
            | Action::FailToLook
            | Action::FindSurvivor => {
                self.end_pen(action, setting);
            }
            Action::Stop | Action::Forget | Action::Retry | Action::CallUp => {}
            _ => self.keeper_moves(action)?,
        }
        Ok(None)
    }

    fn write(&mut self) {
        let row = self.hands.writes.remove(0);
        self.synced = Some(row.clone());
        self.hands.inbox.put(Message::Recorded);
        self.row = Some(self.hands.write_after.take().unwrap_or(row));
    }

    fn end_pen(&mut self, action: Action, setting: Setting) {
        if action == Action::KillSilentKeeper {
            self.hands.end_pen = Some(EndPen::KeeperKilled);
            if self.keeper.is_alive() {
                self.kill_keeper();
            }
            return;
        }
        self.hands.end_pen = None;
        let known = self.hands.pidfd
            || self.row.as_ref().is_some_and(|row| row.0.launch.identity.is_some());
        let message = match action {
            Action::LookAtPen if setting.yard => {
                let exit = self.exit().filter(|_| self.hands.pidfd && setting.kernel_tells);
                // The keeper may have come to its end before it was killed.
                let told = self.outcome.map(|told| told.exit);
                Message::PenEmpty(told.or(exit.map(Some)))
            }
            Action::LookAtPen => {
                if known && self.agent == Agent::Alive {
                    self.agent = Agent::Dead(Truth::Kill);
                }
                Message::PenUnobservable
            }
            Action::FailToLook => Message::PenFailed,
            _ => Message::PenStillAlive,
        };
        self.hands.inbox.put(message);
    }

    /// What a probe finds. It leaves a connection if somebody is there.
    fn look(&mut self) -> Found {
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
            self.hands.linked = true;
            self.hands.pidfd = !matches!(self.keeper, Keeper::Waiting | Keeper::Over);
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
        self.say(Message::KeeperLost);
        self.hands.linked = false;
    }

    pub(crate) fn over(&mut self, told: Told) {
        self.keeper = Keeper::Over;
        self.outcome = Some(told);
        self.say(Message::Gone(told));
    }
}

//! Converts messages to events.

use kennel_types::LaunchFailure;
use std::time::Duration;

use kennel_core::{Event, PenEnd, Probe, StopIntent};
use kennel_types::{AgentReport, Exit, OwedKind, Reason, Survivor};

use crate::model::{ActualExit, Found, KeeperOutcome, Message, OwedItem};
use crate::single::worktree;

/// Returns the exit to record.
pub(crate) fn exit(actual: ActualExit) -> Exit {
    let signal = |signal| Exit::Signal { signal, core: false, oom: false };
    match actual {
        ActualExit::Code => Exit::Code { code: 1 },
        ActualExit::Term => signal(15),
        ActualExit::Kill => signal(9),
        ActualExit::Reboot => Exit::Unknown { why: "lost in the restart of the machine".into() },
    }
}

/// Returns the stop that a client requests.
pub(crate) fn stop(number: u8) -> Event {
    let by = format!("client {number}");
    let grace = (number > 0).then_some(Duration::ZERO);
    Event::StopAsked(StopIntent { grace, reason: Reason::Stopped { by } })
}

fn reason(outcome: KeeperOutcome) -> Option<Reason> {
    if outcome.failed {
        return Some(Reason::Failed { code: LaunchFailure::Exec, why: "no such program".into() });
    }
    outcome.lease_over.then_some(Reason::LeaseOver)
}

fn gone(outcome: KeeperOutcome) -> Event {
    match reason(outcome) {
        Some(Reason::Failed { code, why }) => Event::LaunchFailed { code, why },
        reason => Event::Gone { exit: outcome.exit.map_or(Exit::NeverRan, exit), reason },
    }
}

fn probe(found: Found) -> Probe {
    let (identity, pid, pen) = ("an identity".to_owned(), 42, None);
    match found {
        Found::Waiting => Probe::Waiting,
        Found::Gated => Probe::Gated { identity, pid, pen },
        Found::Running { ending, exit: ended } => {
            Probe::Running { identity, pid, pen, ending, exit: ended.map(exit) }
        }
        Found::Over(outcome) => {
            Probe::Over { exit: outcome.exit.map_or(Exit::NeverRan, exit), reason: reason(outcome) }
        }
        Found::NoKeeper => Probe::NoKeeper,
        Found::Silent => Probe::Silent,
        Found::Rebooted => Probe::Rebooted,
        Found::Failed => Probe::Failed { why: "too many open files".into() },
    }
}

fn owed(item: OwedItem) -> OwedKind {
    match item {
        OwedItem::Files => OwedKind::RuntimeFiles,
        OwedItem::Worktree => worktree(),
    }
}

impl From<Message> for Event {
    fn from(message: Message) -> Self {
        let why = || "a fault".to_owned();
        match message {
            Message::Hello => Self::KeeperReady,
            Message::NotForked => Self::KeeperNotStarted { why: why() },
            Message::Born => Self::Born { identity: "an identity".into(), pid: 42, pen: None },
            Message::Opened => Self::Opened,
            Message::Exited(actual) => Self::Exited { exit: exit(actual) },
            Message::Gone(outcome) => gone(outcome),
            Message::KeeperLost => Self::KeeperLost,
            Message::Recorded => Self::Recorded,
            Message::RecordFailed => Self::RecordFailed { why: why() },
            Message::PenEmpty(known) => {
                let exit = known.map(|actual| actual.map_or(Exit::NeverRan, exit));
                Self::PenEnded(PenEnd::Empty { exit })
            }
            Message::PenStillAlive => {
                let survivor = Survivor { pid: 43, name: "stuck".into(), why: why() };
                Self::PenEnded(PenEnd::StillAlive { survivors: vec![survivor] })
            }
            Message::PenUnobservable => Self::PenEnded(PenEnd::Unobservable { why: why() }),
            Message::PenFailed => Self::PenEnded(PenEnd::Failed { why: why() }),
            Message::Found(found) => Self::Probed(probe(found)),
            Message::CleanedUp(item) => Self::CleanedUp { what: owed(item) },
            Message::CleanUpFailed(item) => Self::CleanUpFailed { what: owed(item), why: why() },
            Message::Kept => Self::Kept { what: worktree(), why: "a commit".into() },
            Message::Made => Self::Made { what: worktree() },
            Message::MakeFailed => Self::MakeFailed { what: worktree(), why: why() },
            Message::Ready => Self::BecameReady { how: "the port accepts".into() },
            Message::Reported => Self::Reported(AgentReport::Ready),
            Message::Overdue => Self::ReadyOverdue { saw: None },
        }
    }
}

//! Messages as events.

use kennel_types::LaunchFailure;
use std::time::Duration;

use kennel_core::{Event, PenEnd, Probe, StopIntent};
use kennel_types::{AgentReport, Exit, OwedKind, Reason, Survivor};

use crate::alone::worktree;
use crate::plot::{Found, Message, Thing, Told, Truth};

/// What an exit is on record, if it is known.
pub(crate) fn exit(truth: Truth) -> Exit {
    let signal = |signal| Exit::Signal { signal, core: false, oom: false };
    match truth {
        Truth::Code => Exit::Code { code: 1 },
        Truth::Term => signal(15),
        Truth::Kill => signal(9),
        Truth::Reboot => Exit::Unknown { why: "nobody can know".into() },
    }
}

/// The stops that clients ask for, one after another.
pub(crate) fn stop(number: u8) -> Event {
    let by = format!("client {number}");
    let grace = (number > 0).then_some(Duration::ZERO);
    Event::StopAsked(StopIntent { grace, reason: Reason::Stopped { by } })
}

fn reason(told: Told) -> Option<Reason> {
    if told.failed {
        return Some(Reason::Failed { code: LaunchFailure::Exec, why: "no such program".into() });
    }
    told.lease_over.then_some(Reason::LeaseOver)
}

fn told(told: Told) -> Event {
    match reason(told) {
        Some(Reason::Failed { code, why }) => Event::LaunchFailed { code, why },
        reason => Event::Gone { exit: told.exit.map_or(Exit::NeverRan, exit), reason },
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
        Found::Over(told) => {
            Probe::Over { exit: told.exit.map_or(Exit::NeverRan, exit), reason: reason(told) }
        }
        Found::NoKeeper => Probe::NoKeeper,
        Found::Silent => Probe::Silent,
        Found::Rebooted => Probe::Rebooted,
        Found::Failed => Probe::Failed { why: "too many open files".into() },
    }
}

fn owed(thing: Thing) -> OwedKind {
    match thing {
        Thing::Files => OwedKind::RuntimeFiles,
        Thing::Worktree => worktree(),
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
            Message::Exited(truth) => Self::Exited { exit: exit(truth) },
            Message::Gone(outcome) => told(outcome),
            Message::KeeperLost => Self::KeeperLost,
            Message::Recorded => Self::Recorded,
            Message::RecordFailed => Self::RecordFailed { why: why() },
            Message::PenEmpty(told) => {
                let exit = told.map(|truth| truth.map_or(Exit::NeverRan, exit));
                Self::PenEnded(PenEnd::Empty { exit })
            }
            Message::PenStillAlive => {
                let survivor = Survivor { pid: 43, name: "stuck".into(), why: why() };
                Self::PenEnded(PenEnd::StillAlive { survivors: vec![survivor] })
            }
            Message::PenUnobservable => Self::PenEnded(PenEnd::Unobservable { why: why() }),
            Message::PenFailed => Self::PenEnded(PenEnd::Failed { why: why() }),
            Message::Found(found) => Self::Probed(probe(found)),
            Message::CleanedUp(thing) => Self::CleanedUp { what: owed(thing) },
            Message::CleanUpFailed(thing) => Self::CleanUpFailed { what: owed(thing), why: why() },
            Message::Kept => Self::Kept { what: worktree(), why: "a commit".into() },
            Message::Made => Self::Made { what: worktree() },
            Message::MakeFailed => Self::MakeFailed { what: worktree(), why: why() },
            Message::Ready => Self::BecameReady { how: "the port accepts".into() },
            Message::Reported => Self::Reported(AgentReport::Ready),
            Message::Overdue => Self::ReadyOverdue { saw: None },
        }
    }
}

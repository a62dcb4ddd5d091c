//! What can happen to a session.

use std::time::Duration;

use kennel_types::{AgentReport, Exit, LaunchFailure, OwedKind, Reason, Survivor};

/// Something happened to a session. Events may arrive twice, late, or in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The session's row, as it was at the effect or later, is durable. Every durable
    /// [`crate::Effect::Record`] gets exactly one answer: this event or [`Event::RecordFailed`].
    Recorded,
    /// The row could not be written.
    RecordFailed { why: String },
    /// The keeper has sent its hello and waits.
    KeeperReady,
    /// The session may leave the queue. See [`crate::World::next_in_queue`].
    TurnCame,
    /// A resource that the session needs exists.
    Made { what: OwedKind },
    /// A resource could not be created. A part of it may exist, but nothing works on it any more.
    MakeFailed { what: OwedKind, why: String },
    /// No keeper could be started, and none will be.
    KeeperNotStarted { why: String },
    /// The agent's process exists behind its gate.
    Born { identity: String, pid: i32, pen: Option<String> },
    /// The program runs.
    Opened,
    /// The launch failed or was called off: the program never ran, and the pen is empty.
    LaunchFailed { code: LaunchFailure, why: String },
    /// The session is ready, by the requested sign. A late event changes nothing.
    BecameReady { how: String },
    /// The session did not become ready in time.
    ReadyOverdue {
        /// The last observation, if the sign was not seen.
        saw: Option<String>,
    },
    /// An authentic report of the agent: see [`crate::report::judge`].
    Reported(AgentReport),
    /// The agent's own process has ended; others in the pen may be left.
    Exited { exit: Exit },
    /// The keeper saw the pen empty.
    Gone {
        exit: Exit,
        /// The keeper's own reason, if it has one: [`Reason::LeaseOver`], [`Reason::ClientGone`],
        /// [`Reason::TimedOut`], [`Reason::Idle`], [`Reason::Silent`].
        reason: Option<Reason>,
    },
    /// These processes could not be ended so far.
    StillAlive { survivors: Vec<Survivor> },
    /// The keeper has died, or doesn't answer.
    KeeperLost,
    /// The result of [`crate::Effect::EndPen`].
    PenEnded(PenEnd),
    /// A caller stops the session.
    StopAsked(StopIntent),
    /// The result of [`crate::Effect::Probe`].
    Probed(Probe),
    /// This resource must also be removed, once the process tree is gone.
    Owes { what: OwedKind },
    /// A resource is removed: it was owed, or a user no longer wants to keep it.
    CleanedUp { what: OwedKind },
    /// A resource contains work and is kept. It is not owed any more.
    Kept { what: OwedKind, why: String },
    /// A resource could not be removed so far.
    CleanUpFailed { what: OwedKind, why: String },
    /// It is time to retry whatever is unsettled: a probe, a cleanup, a record.
    RetryDue,
    /// A user gives up a lost session.
    Forgotten { by: String },
    /// A new daemon has read this session from the register.
    Restored,
}

impl Event {
    /// Returns whether a keeper, or a probe for one, sent the event. Such an event is not about a
    /// session that never requested a keeper.
    pub(crate) fn is_from_keeper(&self) -> bool {
        matches!(
            self,
            Self::KeeperReady
                | Self::KeeperNotStarted { .. }
                | Self::Born { .. }
                | Self::Opened
                | Self::LaunchFailed { .. }
                | Self::Exited { .. }
                | Self::Gone { .. }
                | Self::StillAlive { .. }
                | Self::KeeperLost
                | Self::PenEnded(_)
                | Self::Probed(_)
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopIntent {
    /// The time between TERM and KILL. `None`: the session's own.
    pub grace: Option<Duration>,
    pub reason: Reason,
}

/// The result of ending a pen without its keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PenEnd {
    /// The pen was seen empty.
    Empty {
        /// The agent's exit status, if the kernel still had it.
        exit: Option<Exit>,
    },
    /// Processes are left; retry.
    StillAlive { survivors: Vec<Survivor> },
    /// It is not possible any more to see whether a process is left.
    Unobservable { why: String },
    /// The attempt failed, which proves nothing; retry.
    Failed { why: String },
}

/// What a probe found of a launch of an earlier daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// The keeper is alive and waits for the order to launch.
    Waiting,
    /// The keeper is alive, and its process waits behind the gate.
    Gated { identity: String, pid: i32, pen: Option<String> },
    /// The keeper is alive. The program runs, or has exited and left other processes.
    Running {
        identity: String,
        pid: i32,
        pen: Option<String>,
        /// Whether the keeper is already ending it.
        ending: bool,
        /// The agent's exit status, if it has exited.
        exit: Option<Exit>,
    },
    /// The keeper exited and left its outcome, or is alive with only its outcome left to report.
    Over {
        /// The agent's exit status; [`Exit::NeverRan`] if it never ran.
        exit: Exit,
        /// The keeper's own reason, if it had one.
        reason: Option<Reason>,
    },
    /// The keeper's lock is free, so there is and will be no keeper and no outcome. A pen may be
    /// left.
    NoKeeper,
    /// The keeper's lock is held, but it does not answer.
    Silent,
    /// The machine was restarted, or the pid namespace is gone: no process can be left.
    Rebooted,
    /// The probe failed, which proves nothing.
    Failed { why: String },
}

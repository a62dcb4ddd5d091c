//! What can happen to a session.

use std::time::Duration;

use kennel_types::{AgentReport, Exit, LaunchFailure, OwedKind, Reason, Survivor};

/// Something happened. Events may come twice, late, or in an order that nobody expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The session's row, as it was when the effect was made or later, is durable. Every durable
    /// [`crate::Effect::Record`] gets exactly one answer, this or the next.
    Recorded,
    /// It could not be written.
    RecordFailed {
        /// Why.
        why: String,
    },
    /// The keeper has greeted and waits.
    KeeperReady,
    /// Its turn has come: it may leave the line. See [`crate::World::next_in_queue`].
    TurnCame,
    /// What it needs is there.
    Made {
        /// What.
        what: OwedKind,
    },
    /// What it needs could not be made; a part of it may be there. Nobody is making it any more.
    MakeFailed {
        /// What.
        what: OwedKind,
        /// Why.
        why: String,
    },
    /// No keeper could be started, and none will be.
    KeeperNotStarted {
        /// Why.
        why: String,
    },
    /// The agent's process exists behind its gate.
    Born {
        /// Its identity.
        identity: String,
        /// Its pid.
        pid: i32,
        /// Its cgroup.
        pen: Option<String>,
    },
    /// The program runs.
    Opened,
    /// The launch failed or was called off: the program never ran, and nothing is left in the pen.
    LaunchFailed {
        /// What failed.
        code: LaunchFailure,
        /// Why.
        why: String,
    },
    /// It is up, by what was asked for. Late, it changes nothing.
    BecameReady {
        /// What was seen.
        how: String,
    },
    /// It had its time to become ready.
    ReadyOverdue {
        /// What was seen last in place of the sign.
        saw: Option<String>,
    },
    /// Its agent told something, and was believed: see [`crate::report::judge`].
    Reported(AgentReport),
    /// The agent itself has ended; others may be left.
    Exited {
        /// How.
        exit: Exit,
    },
    /// The keeper has seen the pen empty.
    Gone {
        /// How the agent ended.
        exit: Exit,
        /// Why, if the keeper has a reason of its own: [`Reason::LeaseOver`], [`Reason::ClientGone`],
        /// [`Reason::TimedOut`], [`Reason::Idle`], [`Reason::Silent`].
        reason: Option<Reason>,
    },
    /// These can't be ended so far.
    StillAlive {
        /// Who.
        survivors: Vec<Survivor>,
    },
    /// The keeper has died, or doesn't answer.
    KeeperLost,
    /// What came of [`crate::Effect::EndPen`].
    PenEnded(PenEnd),
    /// Somebody wants it to end.
    StopAsked(StopIntent),
    /// What came of [`crate::Effect::Probe`].
    Probed(Probe),
    /// This must be removed too, once the tree is gone.
    Owes {
        /// What.
        what: OwedKind,
    },
    /// This is removed: since it was owed, or, later, since a person wants no more of what was kept.
    CleanedUp {
        /// What.
        what: OwedKind,
    },
    /// This has something of value in it, and stays. It is not owed any more.
    Kept {
        /// What.
        what: OwedKind,
        /// What of value is in it.
        why: String,
    },
    /// This could not be removed so far.
    CleanUpFailed {
        /// What.
        what: OwedKind,
        /// Why.
        why: String,
    },
    /// The time for another try at whatever is not settled: a probe, a clean-up, a record.
    RetryDue,
    /// A person gives up a lost session.
    Forgotten {
        /// Who.
        by: String,
    },
    /// A new daemon read this session from the register.
    Restored,
}

impl Event {
    /// Whether it comes from a keeper, or from a look for one. Of a session for which none was asked, that is
    /// about somebody else.
    pub(crate) fn is_of_keeper(&self) -> bool {
        match self {
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
            | Self::Probed(_) => true,
            Self::Recorded
            | Self::RecordFailed { .. }
            | Self::TurnCame
            | Self::Made { .. }
            | Self::MakeFailed { .. }
            | Self::BecameReady { .. }
            | Self::ReadyOverdue { .. }
            | Self::Reported(_)
            | Self::StopAsked(_)
            | Self::Owes { .. }
            | Self::CleanedUp { .. }
            | Self::Kept { .. }
            | Self::CleanUpFailed { .. }
            | Self::RetryDue
            | Self::Forgotten { .. }
            | Self::Restored => false,
        }
    }
}

/// A wish for the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopIntent {
    /// KILL follows TERM after this long; the session's own grace if none is given.
    pub grace: Option<Duration>,
    /// Why.
    pub reason: Reason,
}

/// What came of ending a pen without its keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PenEnd {
    /// Seen to be empty.
    Empty {
        /// What the kernel could still tell of the agent.
        exit: Option<Exit>,
    },
    /// Not yet; try again.
    StillAlive {
        /// Who.
        survivors: Vec<Survivor>,
    },
    /// It can't be seen any more whether somebody is left.
    Unobservable {
        /// Why.
        why: String,
    },
    /// The look failed, which says nothing; try again.
    Failed {
        /// Why.
        why: String,
    },
}

/// What was found of a launch from before this daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// Its keeper lives and still waits to be told to launch.
    Waiting,
    /// Its keeper lives, its process waits behind the gate.
    Gated {
        /// Its identity.
        identity: String,
        /// Its pid.
        pid: i32,
        /// Its cgroup.
        pen: Option<String>,
    },
    /// Its keeper lives, and the program runs, or has exited while others are left.
    Running {
        /// Its identity.
        identity: String,
        /// Its pid.
        pid: i32,
        /// Its cgroup.
        pen: Option<String>,
        /// Whether the keeper is ending it already.
        ending: bool,
        /// How the agent ended, if it has.
        exit: Option<Exit>,
    },
    /// Its keeper is gone, and left its outcome; or lives and has only its outcome left to tell.
    Over {
        /// How the agent ended; [`Exit::NeverRan`] if it never ran.
        exit: Exit,
        /// Why, if the keeper had a reason of its own.
        reason: Option<Reason>,
    },
    /// Its lock is free, so no keeper exists or will; there is no outcome. A pen may be left.
    NoKeeper,
    /// Its lock is held, but nobody answers.
    Silent,
    /// The machine was restarted, or its pid namespace is gone: nothing of it can be left.
    Rebooted,
    /// The look failed, which says nothing.
    Failed {
        /// Why.
        why: String,
    },
}

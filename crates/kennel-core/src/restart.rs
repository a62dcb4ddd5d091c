//! Whether a session that has ended is launched again by itself, and when.
//!
//! Only a failure of its own is repeated: not what somebody stopped, nor what was ended by time, nor what a
//! restart of the machine took. What may have run and has no outcome is repeated only if that was asked for.

use std::time::Duration;

use kennel_types::{Exit, Reason, RelaunchState, Restart};
use serde::{Deserialize, Serialize};

use crate::session::Session;

/// The pause before the first repetition; each further one takes twice as long.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);
/// What ran so long was healthy: the next pause is the shortest again.
const HEALTHY: Duration = Duration::from_secs(10 * 60);

/// How often a session was launched again by itself since a person launched it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Restarts {
    /// In all.
    pub total: u32,
    /// Since a launch that was healthy for a while.
    pub in_a_row: u32,
}

impl Restarts {
    /// After another one, of a launch that ran so long.
    #[must_use]
    pub fn after(self, ran: Duration) -> Self {
        let before = if ran >= HEALTHY { 0 } else { self.in_a_row };
        Self { total: self.total.saturating_add(1), in_a_row: before.saturating_add(1) }
    }
}

/// What is known of the newest launch of a session, once it is cleaned up.
#[derive(Debug, Clone, Copy)]
pub struct RestartFacts<'a> {
    /// What is wanted.
    pub policy: Restart,
    /// Whether that goes for what may have run, too.
    pub unknown_too: bool,
    /// What was done so far.
    pub restarts: Restarts,
    /// Whether somebody wanted the end.
    pub called_off: bool,
    /// Why it ended.
    pub reason: Option<&'a Reason>,
    /// How the agent ended.
    pub exit: Option<&'a Exit>,
    /// How long the program ran; zero if it never did.
    pub ran: Duration,
}

impl<'a> RestartFacts<'a> {
    /// Those of a launch.
    #[must_use]
    pub fn of(session: &'a Session, ran: Duration) -> Self {
        Self {
            policy: session.spec.restart,
            unknown_too: session.spec.restart_unknown,
            restarts: session.restarts,
            called_off: matches!(session.relaunch, RelaunchState::CalledOff { .. }),
            reason: session.reason.as_ref(),
            exit: session.exit.as_ref(),
            ran,
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum RestartDecision {
    /// Another launch.
    Relaunch {
        /// After this long.
        after: Duration,
    },
    /// That was it.
    Done(NoRestartReason),
}

/// Why there is no other launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRestartReason {
    /// Nobody asked for any.
    #[error("nobody asked for restarts")]
    NoPolicy,
    /// It has not ended, or nobody knows why.
    #[error("it has not ended")]
    NotEnded,
    /// The agent exited with 0.
    #[error("it succeeded")]
    Succeeded,
    /// Somebody, or something that it depended on, ended it.
    #[error("its end was wanted")]
    Wanted,
    /// It took too long.
    #[error("it was ended by time, and that is never repeated")]
    Time,
    /// The machine was restarted.
    #[error("it was lost to the restart of the machine")]
    Rebooted,
    /// A person gave it up.
    #[error("it was given up, and nobody saw it end")]
    Forgotten,
    /// It may have run.
    #[error("it may have run, and nobody knows how it ended")]
    Unknown,
    /// There is a later launch.
    #[error("it was launched again already")]
    Superseded,
    /// It was repeated often enough.
    #[error("it was launched again as often as allowed")]
    Exhausted,
}

/// Decides.
pub fn decide(facts: &RestartFacts<'_>) -> RestartDecision {
    let Restart::OnFailure { most } = facts.policy else {
        return RestartDecision::Done(NoRestartReason::NoPolicy);
    };
    if facts.called_off {
        return RestartDecision::Done(NoRestartReason::Wanted);
    }
    if let Err(why) = failed(facts) {
        return RestartDecision::Done(why);
    }
    if most.is_some_and(|most| facts.restarts.total >= most) {
        return RestartDecision::Done(NoRestartReason::Exhausted);
    }
    RestartDecision::Relaunch { after: pause(facts) }
}

/// Whether it failed by itself.
fn failed(facts: &RestartFacts<'_>) -> Result<(), NoRestartReason> {
    let (Some(reason), Some(exit)) = (facts.reason, facts.exit) else {
        return Err(NoRestartReason::NotEnded);
    };
    // Whoever ended it: its own word counts only if nobody made it end.
    let by_itself = match reason {
        Reason::Exited => true,
        Reason::Failed { .. } | Reason::KeeperDied => false,
        Reason::Stopped { .. } | Reason::ClientGone | Reason::ParentEnded | Reason::Shutdown => {
            return Err(NoRestartReason::Wanted);
        }
        Reason::NotReady { .. }
        | Reason::TimedOut { .. }
        | Reason::Idle { .. }
        | Reason::Silent { .. }
        | Reason::LeaseOver => return Err(NoRestartReason::Time),
        Reason::Rebooted => return Err(NoRestartReason::Rebooted),
        Reason::Forgotten { .. } => return Err(NoRestartReason::Forgotten),
    };
    match exit {
        Exit::Code { code: 0 } => Err(NoRestartReason::Succeeded),
        Exit::Code { .. } | Exit::NeverRan => Ok(()),
        Exit::Signal { .. } if by_itself => Ok(()),
        Exit::Signal { .. } | Exit::Unknown { .. } if facts.unknown_too => Ok(()),
        Exit::Signal { .. } | Exit::Unknown { .. } => Err(NoRestartReason::Unknown),
    }
}

fn pause(facts: &RestartFacts<'_>) -> Duration {
    let in_a_row = if facts.ran >= HEALTHY { 0 } else { facts.restarts.in_a_row };
    // Beyond that it is the longest anyway.
    SHORTEST_PAUSE.saturating_mul(1 << in_a_row.min(16)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests;

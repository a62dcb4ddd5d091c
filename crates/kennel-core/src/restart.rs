//! Whether and when an ended session is restarted automatically.
//!
//! Only a session that failed by itself is restarted: not one that was stopped, timed out, or was
//! lost in a restart of the machine. A session that may have run and has no outcome is restarted
//! only on request.

use std::time::Duration;

use kennel_types::{Exit, Reason, RelaunchState, Restart};
use serde::{Deserialize, Serialize};

use crate::session::Session;

/// The pause before the first restart. It doubles with each further one.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);
/// A launch that ran this long was healthy: the next pause is the shortest again.
const HEALTHY: Duration = Duration::from_secs(10 * 60);

/// The number of automatic restarts since a user last launched the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Restarts {
    pub total: u32,
    /// Restarts since a healthy launch.
    pub in_a_row: u32,
}

impl Restarts {
    /// Returns the numbers after a restart of a launch that ran this long.
    #[must_use]
    pub fn after(self, ran: Duration) -> Self {
        let before = if ran >= HEALTHY { 0 } else { self.in_a_row };
        Self { total: self.total.saturating_add(1), in_a_row: before.saturating_add(1) }
    }
}

/// The facts about the newest launch of a session, once it is cleaned up.
#[derive(Debug, Clone, Copy)]
pub struct RestartFacts<'a> {
    pub policy: Restart,
    /// Whether the policy also applies to a launch that may have run.
    pub unknown_too: bool,
    pub restarts: Restarts,
    pub called_off: bool,
    pub reason: Option<&'a Reason>,
    pub exit: Option<&'a Exit>,
    /// How long the program ran. Zero if it never did.
    pub ran: Duration,
}

impl<'a> RestartFacts<'a> {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRestartReason {
    #[error("it has no restart policy")]
    NoPolicy,
    #[error("it has not ended")]
    NotEnded,
    #[error("it succeeded")]
    Succeeded,
    /// A caller, or the end of something that it depends on, stopped it.
    #[error("it was stopped")]
    Wanted,
    #[error("it exceeded a time limit, after which it is never restarted")]
    Time,
    #[error("it was lost in the restart of the machine")]
    Rebooted,
    #[error("it was forgotten; Kennel did not see it end")]
    Forgotten,
    #[error("it may have run, with an unknown result")]
    Unknown,
    #[error("it was already launched again")]
    Superseded,
    #[error("it reached its maximum number of restarts")]
    Exhausted,
}

/// Returns the pause before the next launch, or why the session is not launched again.
pub fn decide(facts: &RestartFacts<'_>) -> Result<Duration, NoRestartReason> {
    let Restart::OnFailure { most } = facts.policy else { return Err(NoRestartReason::NoPolicy) };
    if facts.called_off {
        return Err(NoRestartReason::Wanted);
    }
    check_failed(facts)?;
    if most.is_some_and(|most| facts.restarts.total >= most) {
        return Err(NoRestartReason::Exhausted);
    }
    Ok(pause(facts))
}

/// Checks that the session failed by itself.
fn check_failed(facts: &RestartFacts<'_>) -> Result<(), NoRestartReason> {
    let (Some(reason), Some(exit)) = (facts.reason, facts.exit) else {
        return Err(NoRestartReason::NotEnded);
    };
    // A signal counts as the session's own failure only if Kennel did not end it.
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
    // More doublings exceed the longest pause anyway.
    SHORTEST_PAUSE.saturating_mul(1 << in_a_row.min(16)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests;

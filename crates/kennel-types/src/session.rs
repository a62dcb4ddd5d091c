//! The state of a session: its phase, how and why it ended, and the resources that are left.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{FromRepr, IntoStaticStr};

use crate::millis;

/// The origin of a session's process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    /// Kennel started it. It has a keeper and a pen.
    #[default]
    Kennel,
    /// A user, in their own terminal. Kennel adopted the process: it watches it, and ends it only on a stop that
    /// names this session. There is no keeper and no pen, and Kennel does not track the process's children.
    #[serde(rename = "terminal")]
    User,
}

/// The phase of a session, as last observed. `kennel-core` has the state diagram, in its lifecycle
/// module.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// On record and queued, because a limit is reached. No keeper exists or was requested.
    Queued,
    /// On record. Its worktree is being created. No keeper exists or was requested.
    Making,
    /// On record, or about to be. The agent's process does not exist yet. For an adopted process:
    /// Kennel does not follow it yet.
    Reserved,
    /// The keeper creates pen and process. The gate is closed.
    Launching,
    /// Granted: the process executes the program.
    Starting,
    /// The program runs.
    Running,
    /// The session is being stopped.
    Stopping,
    /// Kennel can't observe the session, but still owns it, and keeps looking for it.
    Lost,
    /// The pen is empty: no process of the session is left.
    Reaped,
    /// Reaped, and nothing is left to remove.
    Cleaned,
}

impl Phase {
    /// Returns the stable name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the name to show to users: a cleaned session is simply `ended`.
    #[must_use]
    pub fn label(self) -> &'static str {
        if self == Self::Cleaned { "ended" } else { self.name() }
    }
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
#[strum(serialize_all = "snake_case")]
pub enum Reason {
    /// The agent exited by itself.
    Exited,
    /// A caller stopped it.
    Stopped {
        /// The name of the caller.
        by: String,
    },
    /// The client that it was tied to disconnected.
    ClientGone,
    /// Its parent session ended.
    ParentEnded,
    /// The daemon shut down and stopped all sessions.
    Shutdown,
    /// The launch failed.
    Failed {
        /// What failed.
        code: LaunchFailure,
        /// The error message.
        why: String,
    },
    /// No daemon returned within the lease.
    LeaseOver,
    /// It was not ready in time.
    NotReady {
        /// The time that it had.
        #[serde(rename = "after_ms", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        after: Duration,
        /// The last observation before the timeout.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saw: Option<String>,
    },
    /// It ran longer than its timeout.
    TimedOut {
        /// The limit.
        #[serde(rename = "limit_ms", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        limit: Duration,
    },
    /// It did nothing for too long.
    Idle {
        /// The limit.
        #[serde(rename = "limit_ms", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        limit: Duration,
    },
    /// It printed nothing for too long.
    Silent {
        /// The limit.
        #[serde(rename = "limit_ms", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        limit: Duration,
    },
    /// Its keeper died.
    KeeperDied,
    /// The machine was restarted.
    Rebooted,
    /// A user gave up the lost session. Kennel did not see it end.
    Forgotten {
        /// The name of the caller.
        by: String,
    },
}

impl Reason {
    /// Returns the stable name, as in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited => f.write_str("the agent exited"),
            Self::Stopped { by } if by.is_empty() => f.write_str("stopped"),
            Self::Stopped { by } => write!(f, "stopped by {by}"),
            Self::ClientGone => f.write_str("its client disconnected"),
            Self::ParentEnded => f.write_str("its parent session ended"),
            Self::Shutdown => f.write_str("the daemon shut down"),
            Self::Failed { code, why } => {
                write!(f, "the launch failed ({}): {why}", u8::from(*code))
            }
            Self::LeaseOver => f.write_str("no daemon returned within its lease"),
            Self::NotReady { after, saw: None } => write!(f, "it was not ready within {after:?}"),
            Self::NotReady { after, saw: Some(saw) } => {
                write!(f, "it was not ready within {after:?}: {saw}")
            }
            Self::TimedOut { limit } => write!(f, "it ran longer than {limit:?}"),
            Self::Idle { limit } => write!(f, "it did nothing for {limit:?}"),
            Self::Silent { limit } => write!(f, "it printed nothing for {limit:?}"),
            Self::KeeperDied => f.write_str("its keeper died"),
            Self::Rebooted => f.write_str("the machine was restarted"),
            Self::Forgotten { by } => write!(f, "forgotten by {by}; Kennel did not see it end"),
        }
    }
}

/// What failed in a launch. In JSON it is the number that `kennel run` exits with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, FromRepr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "u8"))]
#[serde(try_from = "u8", into = "u8")]
#[repr(u8)]
pub enum LaunchFailure {
    /// The setup: home, environment, worktree or daemon.
    Setup = 202,
    /// The pen could not be created, or not of the requested kind.
    Pen = 203,
    /// The program could not be executed.
    Exec = 204,
    /// Anything else in Kennel itself.
    Internal = 207,
}

impl From<LaunchFailure> for u8 {
    fn from(failure: LaunchFailure) -> Self {
        failure as Self
    }
}

/// A number that is not a launch failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid launch failure {0}: expected 202, 203, 204 or 207")]
pub struct LaunchFailureError(u8);

impl TryFrom<u8> for LaunchFailure {
    type Error = LaunchFailureError;

    fn try_from(code: u8) -> Result<Self, LaunchFailureError> {
        Self::from_repr(code).ok_or(LaunchFailureError(code))
    }
}

/// How an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Exit {
    /// It exited with this code.
    Code {
        /// The exit code.
        code: i32,
    },
    /// A signal ended it.
    Signal {
        /// The number of the signal.
        signal: i32,
        /// Whether it dumped core.
        core: bool,
        /// Whether the OOM killer sent the signal.
        oom: bool,
    },
    /// The program never ran.
    NeverRan,
    /// Unknown. The program may have run.
    Unknown {
        /// Why it is unknown.
        why: String,
    },
}

impl Exit {
    /// Returns the exit status as a shell shows it, if the program ran and its end is known.
    #[must_use]
    pub fn shell_code(&self) -> Option<i32> {
        match self {
            Self::Code { code } => Some(*code),
            Self::Signal { signal, .. } => Some(128 + signal),
            Self::NeverRan | Self::Unknown { .. } => None,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exited with code {code}"),
            Self::Signal { signal, oom: true, .. } => {
                write!(f, "ended by signal {signal}, out of memory")
            }
            Self::Signal { signal, .. } => write!(f, "ended by signal {signal}"),
            Self::NeverRan => f.write_str("it never ran"),
            Self::Unknown { why } => write!(f, "status unknown: {why}"),
        }
    }
}

/// A resource that Kennel must remove after the session. It is on record before it is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Owed {
    /// The resource.
    pub what: OwedKind,
    /// How many times the removal failed.
    pub failures: u32,
    /// The error of the last attempt.
    pub why: Option<String>,
}

/// A resource that Kennel creates for a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum OwedKind {
    /// The keeper's socket, lock and identity file in the session's directory.
    RuntimeFiles,
    /// The directory of the pen, if its keeper could not remove it.
    PenFolder {
        /// The path.
        path: String,
    },
    /// A git worktree and its branch.
    Worktree {
        /// The repository.
        repo: String,
        /// The path of the worktree.
        path: String,
        /// The branch.
        branch: String,
        /// The worktree code's own record, needed to create and remove it.
        #[serde(default)]
        record: Option<String>,
    },
}

/// A resource of a session that is kept because it contains work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptItem {
    /// The resource.
    pub what: OwedKind,
    /// The work in it.
    pub why: String,
}

/// A process that could not be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Survivor {
    /// The pid.
    pub pid: i32,
    /// The short name of its program.
    pub name: String,
    /// Why it is still alive.
    pub why: String,
}

impl fmt::Display for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} ({}): {}", self.pid, self.name, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_a_shell_code_only_if_it_is_the_programs_own() {
        assert_eq!(Exit::Code { code: 3 }.shell_code(), Some(3));
        let signal = Exit::Signal { signal: 9, core: false, oom: true };
        assert_eq!(signal.shell_code(), Some(137));
        assert_eq!(Exit::NeverRan.shell_code(), None);
        assert_eq!(Exit::Unknown { why: "x".into() }.shell_code(), None);
    }
}

//! The exit status of an agent.

use std::fmt;

use kennel_sys::reap::WaitStatus;
use serde::{Deserialize, Serialize};

/// The agent's own exit status, or unknown with the reason. It is never that of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub enum Status {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal {
        /// Its number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
        /// Whether the OOM killer sent it, if that is known.
        oom: bool,
    },
    /// The status is lost, for this reason.
    Unknown(String),
}

impl From<WaitStatus> for Status {
    fn from(ended: WaitStatus) -> Self {
        match ended {
            WaitStatus::Code(code) => Self::Code(code),
            WaitStatus::Signal { signal, core } => Self::Signal { signal, core, oom: false },
        }
    }
}

impl Status {
    /// Returns the code that a shell shows: the agent's own, or 128 plus the signal.
    pub fn shell_code(&self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(*code),
            Self::Signal { signal, .. } => Some(128 + signal),
            Self::Unknown(_) => None,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal { signal, core, oom } => {
                write!(f, "ended by signal {signal}")?;
                f.write_str(if *oom { " (out of memory)" } else { "" })?;
                f.write_str(if *core { " (core dumped)" } else { "" })
            }
            Self::Unknown(reason) => write!(f, "unknown: {reason}"),
        }
    }
}

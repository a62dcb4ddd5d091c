//! How an agent ended.

use std::fmt;

use kennel_sys::reap::WaitStatus;

/// The status of an agent: its own, or unknown with the reason. Never a transport's or a holder's.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        /// Whether it was the kernel's OOM killer, where that can be told.
        oom: bool,
    },
    /// Nobody can tell any more.
    Unknown(String),
}

impl Status {
    pub(crate) fn new(ended: WaitStatus, oom: bool) -> Self {
        match ended {
            WaitStatus::Code(code) => Self::Code(code),
            WaitStatus::Signal { signal, core } => {
                Self::Signal { signal, core, oom: oom && signal == 9 }
            }
        }
    }

    /// The code that a shell would show: the agent's own, or 128 plus the signal.
    #[must_use]
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

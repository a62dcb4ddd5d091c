//! How an attempt at a prompt ended.

use std::fmt;

use kennel_types::VerdictKind;

/// How the process of an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it.
    Signaled(i32),
    /// It ended, but its exit status is unknown.
    Unknown,
    /// It was never started, for this reason.
    NotStarted(String),
}

/// Why an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedBy {
    /// It ended by itself, or another program than Kennel ended it.
    Itself,
    /// A client asked Kennel to stop it.
    Stopped,
    /// It exceeded a time limit.
    TimedOut,
    /// Kennel ended it for another reason, such as a shutdown or the end of the session's parent.
    Kennel { why: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptEnd {
    pub end: ProcessEnd,
    pub ended_by: EndedBy,
}

impl AttemptEnd {
    pub(crate) fn never_started(&self) -> bool {
        matches!(self.end, ProcessEnd::NotStarted(_))
    }

    pub(crate) fn by_kennel(&self) -> Option<(VerdictKind, &str)> {
        match &self.ended_by {
            EndedBy::Itself => None,
            EndedBy::Stopped => Some((VerdictKind::Cancelled, "it was stopped")),
            EndedBy::TimedOut => Some((VerdictKind::TimedOut, "it exceeded its time limit")),
            EndedBy::Kennel { why } => Some((VerdictKind::Cancelled, why)),
        }
    }
}

impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "it exited with code {code}"),
            Self::Signaled(signal) => write!(f, "signal {signal} killed it"),
            Self::Unknown => write!(f, "its exit status is unknown"),
            Self::NotStarted(why) => write!(f, "it was not started: {why}"),
        }
    }
}

//! What is put on record, and what is asked of it.

use kennel_core::{Session, SessionId};

/// A session, as it is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The session.
    pub session: Session,
    /// When things happened to it.
    pub times: Times,
}

/// When things happened to a session: milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// It was asked for.
    pub created_ms: u64,
    /// Its program began to run.
    pub started_ms: Option<u64>,
    /// It was seen to be gone.
    pub ended_ms: Option<u64>,
}

/// An event that has no number yet. Anybody who may read the log will see it: no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// Which session; none for the daemon itself.
    pub session: Option<SessionId>,
    /// What.
    pub kind: String,
    /// Why, or by what.
    pub cause: String,
    /// Who asked.
    pub by: Option<String>,
}

/// What a write must survive before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: it is on the disk. Committed at once.
    Durable,
    /// The end of this process: the kernel has it. Waits a moment for company.
    Soon,
}

/// Which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Those with a greater number than this.
    pub since: u64,
    /// Only those of this session.
    pub session: Option<SessionId>,
    /// At most so many, the oldest of them.
    pub limit: usize,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Events.
    pub max_events: u64,
    /// Sessions that are over and cleaned up.
    pub max_ended_sessions: u64,
}

/// What came of a [`Retention`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retained {
    /// How many events were dropped.
    pub dropped_events: u64,
    /// Sessions beyond the bound, the one that ended first in front. They are still there: their folders
    /// go first, then [`Register::remove`](super::Register::remove).
    pub excess: Vec<SessionId>,
}

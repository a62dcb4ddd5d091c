//! What is put on record, and what is asked of it.

use std::time::Duration;

use kennel_core::plan::{Inputs, PlanSpec, PlanState};
use kennel_core::{EventView, PenKind, Session, SessionId};

/// A session, as it is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The session.
    pub session: Session,
    /// When things happened to it.
    pub times: Times,
}

/// A plan, as it is on record.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PlanRecord {
    /// The id of this run of it.
    pub id: SessionId,
    /// What was asked for.
    pub spec: PlanSpec,
    /// What was said for its inputs.
    pub inputs: Inputs,
    /// The folder in which agents work that name none.
    pub cwd: String,
    /// Which pen its sessions get.
    pub pen: PenKind,
    /// How it stands.
    pub state: PlanState,
    /// Whether it is cancelled if whoever wants it goes without a word.
    #[serde(default)]
    pub tied: bool,
    /// Who asked for it.
    pub asked_by: String,
    /// When: milliseconds since 1970.
    pub created_ms: u64,
    /// When it was begun, or gone on with last.
    pub begun_ms: u64,
    /// How much of its time is spent since then: awake, and while a daemon ran.
    #[serde(default)]
    pub spent_ms: u64,
    /// When it was over.
    pub ended_ms: Option<u64>,
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

impl Times {
    /// Its program was seen to run, unless that is known already. A clock that was put back does not put it before
    /// it was asked for.
    pub fn note_start(&mut self, told_ms: u64) {
        self.started_ms.get_or_insert(told_ms.max(self.created_ms));
    }

    /// It was seen to be gone, unless that is known already. Its keeper tells when, and the daemon noted the start when
    /// it heard of it: a short one may have ended before.
    pub fn note_end(&mut self, told_ms: u64) {
        let earliest = self.created_ms.max(self.started_ms.unwrap_or(0));
        self.ended_ms.get_or_insert(told_ms.max(earliest));
    }
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

/// What one commit of the writing thread did, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitReport {
    /// How long the commit took, the flush of durable writes included.
    pub took: Duration,
    /// Writes that were recorded.
    pub recorded: u64,
    /// Writes that failed.
    pub failed: u64,
    /// Events that were recorded.
    pub events: u64,
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

/// Events, and how far back there are any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// Those that were asked for, the oldest first.
    pub events: Vec<EventView>,
    /// The number of the oldest event on record, seen at the same time; none if there is none.
    pub oldest: Option<u64>,
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
    /// go first, then [`Register::remove`](crate::Register::remove).
    pub excess: Vec<SessionId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_before_it_started_or_starts_before_it_was_asked_for() {
        let noted = |created_ms, started: Option<u64>, ended: u64| {
            let mut times = Times { created_ms, ..Times::default() };
            if let Some(started) = started {
                times.note_start(started);
            }
            times.note_end(ended);
            (times.created_ms, times.started_ms, times.ended_ms)
        };
        assert_eq!(noted(10, Some(12), 15), (10, Some(12), Some(15)));
        assert_eq!(noted(10, Some(18), 15), (10, Some(18), Some(18)));
        assert_eq!(noted(10, Some(8), 9), (10, Some(10), Some(10)));
        assert_eq!(noted(10, None, 7), (10, None, Some(10)));
    }

    #[test]
    fn the_first_word_counts() {
        // A process that was there before it was adopted.
        let mut times = Times { created_ms: 10, started_ms: Some(3), ended_ms: None };
        times.note_start(12);
        times.note_end(20);
        times.note_end(30);
        assert_eq!(times, Times { created_ms: 10, started_ms: Some(3), ended_ms: Some(20) });
    }
}

//! The records of the register, and the queries on them.

use std::time::Duration;

use kennel_core::Session;
use kennel_core::plan::{Inputs, PlanState};
use kennel_types::plan::PlanSpec;
use kennel_types::{EventView, PenKind, SessionId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its state, the launch token included.
    pub session: Session,
    /// When it was created, started and ended.
    pub times: SessionTimes,
}

/// A run of a plan as it is on record.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PlanRecord {
    pub id: SessionId,
    pub spec: PlanSpec,
    pub inputs: Inputs,
    /// The working folder of agents that have none of their own.
    pub cwd: String,
    /// The kind of pen its sessions get.
    pub pen: PenKind,
    pub state: PlanState,
    /// Whether it is cancelled when the client that requested it disconnects.
    pub cancel_on_disconnect: bool,
    pub asked_by: String,
    /// When it was requested, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was last started or resumed.
    pub begun_ms: u64,
    /// The running time since then. It excludes suspend and times without a daemon.
    pub spent_ms: u64,
    pub ended_ms: Option<u64>,
}

/// The timestamps of a session, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionTimes {
    /// When it was requested.
    pub created_ms: u64,
    /// When its program started to run.
    pub started_ms: Option<u64>,
    /// When the daemon saw that it had ended.
    pub ended_ms: Option<u64>,
}

impl SessionTimes {
    /// Sets the start, unless it is set. It is never before the creation, even if the clock was set
    /// back.
    pub fn note_start(&mut self, reported_ms: u64) {
        self.started_ms.get_or_insert(reported_ms.max(self.created_ms));
    }

    /// Sets the end, unless it is set. The keeper reports the end, but the daemon's own clock sets
    /// the start, so the reported end of a short session may lie before its start.
    pub fn note_end(&mut self, reported_ms: u64) {
        let earliest = self.created_ms.max(self.started_ms.unwrap_or(0));
        self.ended_ms.get_or_insert(reported_ms.max(earliest));
    }
}

/// An event without a sequence number yet. Every reader of the event log sees it, so it must
/// contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// When it happened, in milliseconds since 1970.
    pub time_ms: u64,
    /// The session; `None` for an event of the daemon itself.
    pub session: Option<SessionId>,
    pub kind: String,
    pub cause: String,
    /// The user that requested it, if one did.
    pub by: Option<String>,
}

/// What a write survives once its result is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: it is flushed to the disk. Committed immediately.
    Durable,
    /// The end of this process: the kernel has it. Committed after a short delay, together with
    /// other writes.
    Soon,
}

/// What one commit of the writing thread did, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitReport {
    /// How long the commit took, including the flush of durable writes.
    pub took: Duration,
    /// Writes that were recorded.
    pub recorded: u64,
    /// Writes that failed.
    pub failed: u64,
    /// Events that were recorded.
    pub events: u64,
}

/// Selects events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Only events with a greater sequence number.
    pub since: u64,
    pub session: Option<SessionId>,
    /// The maximum number of events; the oldest ones are returned.
    pub limit: usize,
}

/// Events, with the start of the event log at that moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    pub events: Vec<EventView>,
    /// The sequence number of the oldest event on record; `None` if there are no events.
    pub oldest: Option<u64>,
}

/// How many records are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub max_events: u64,
    /// The maximum number of cleaned sessions.
    pub max_ended_sessions: u64,
}

/// The result of applying a [`Retention`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retained {
    pub dropped_events: u64,
    /// Sessions beyond the limit, earliest end first. They are still on record: the caller removes
    /// their folders, then calls [`Register::remove`](crate::Register::remove).
    pub excess: Vec<SessionId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_not_before_the_creation_nor_an_end_before_the_start() {
        let noted = |created_ms, started: Option<u64>, ended: u64| {
            let mut times = SessionTimes { created_ms, ..SessionTimes::default() };
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
    fn the_first_report_counts() {
        // An adopted process is older than its session.
        let mut times = SessionTimes { created_ms: 10, started_ms: Some(3), ended_ms: None };
        times.note_start(12);
        times.note_end(20);
        times.note_end(30);
        assert_eq!(times, SessionTimes { created_ms: 10, started_ms: Some(3), ended_ms: Some(20) });
    }
}

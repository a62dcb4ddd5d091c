//! What has happened since this daemon began.

use std::time::Duration;

use kennel_register::CommitReport;
use kennel_types::{Reason, VerdictKind};

use super::counter::{Counter, Counters};
use super::histogram::Histogram;
use super::reason::{self, REASONS};
use crate::error::DISBELIEFS;

/// From a few milliseconds, which a launch takes, to a worktree of a large repository.
const LAUNCH: &[Duration] = &[
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2500),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
];
/// From an end at once to one after the usual grace, and beyond.
const STOP: &[Duration] = LAUNCH;
/// From a commit without a flush to one on a slow disk.
const COMMIT: &[Duration] = &[
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Counted as it happens.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Launches that were taken in.
    pub(crate) launches: Counter,
    /// From then, or from their turn, to the agent's first instruction.
    pub(crate) launch: Histogram,
    /// From the first wish for an end to the end.
    pub(crate) stop: Histogram,
    pub(super) ended: Counters<{ REASONS.len() }>,
    /// Those of them that were seen to be gone.
    pub(crate) reaped: Counter,
    pub(crate) keepers_lost: Counter,
    pub(crate) orphans_ended: Counter,
    pub(crate) strays_found: Counter,
    pub(crate) strays_ended: Counter,
    pub(crate) reports_taken: Counter,
    pub(crate) reports_refused: Counters<{ DISBELIEFS.len() }>,
    pub(crate) clean_ups_failed: Counter,
    pub(super) judged: Counters<{ VerdictKind::ALL.len() }>,
    pub(crate) retries: Counter,
    pub(crate) restarts: Counter,
    /// Of launches that have ended.
    pub(crate) output: Counter,
    pub(crate) output_dropped: Counter,
    pub(crate) output_unknown: Counter,
    /// How long the register's commits took that recorded something.
    pub(super) register_commits: Histogram,
    /// Writes that the register refused.
    pub(super) register_failed: Counter,
    /// Events that the register recorded.
    pub(super) register_events: Counter,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            launches: Counter::default(),
            launch: Histogram::new(LAUNCH),
            stop: Histogram::new(STOP),
            ended: Counters::new(REASONS),
            reaped: Counter::default(),
            keepers_lost: Counter::default(),
            orphans_ended: Counter::default(),
            strays_found: Counter::default(),
            strays_ended: Counter::default(),
            reports_taken: Counter::default(),
            reports_refused: Counters::new(DISBELIEFS),
            clean_ups_failed: Counter::default(),
            judged: Counters::new(VerdictKind::ALL.map(VerdictKind::name)),
            retries: Counter::default(),
            restarts: Counter::default(),
            output: Counter::default(),
            output_dropped: Counter::default(),
            output_unknown: Counter::default(),
            register_commits: Histogram::new(COMMIT),
            register_failed: Counter::default(),
            register_events: Counter::default(),
        }
    }
}

impl Tally {
    /// A launch is over.
    pub(crate) fn ended(&self, reason: Option<&Reason>) {
        self.ended.one_more(reason::name(reason));
    }

    /// Counts a commit of the register.
    pub(crate) fn committed(&self, commit: CommitReport) {
        if commit.recorded > 0 {
            self.register_commits.observe(commit.took);
        }
        self.register_failed.add(commit.failed);
        self.register_events.add(commit.events);
    }

    /// It is known what became of a prompt.
    pub(crate) fn judged(&self, kind: VerdictKind) {
        self.judged.one_more(kind.name());
    }
}

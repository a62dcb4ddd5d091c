//! What has happened since this daemon started.

use std::time::Duration;

use kennel_register::CommitReport;
use kennel_types::{Reason, VerdictKind};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use super::reason::{self, REASONS};
use crate::error::DISBELIEFS;

/// In seconds, from a fast launch to one with a worktree of a large repository; also for stops, with or without grace.
const LAUNCH: [f64; 13] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// In seconds, from a commit without a flush to one on a slow disk.
const COMMIT: [f64; 13] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// The only label of a family, with its value.
pub(super) type Label = [(&'static str, &'static str); 1];

/// A counter for each value of one label.
#[derive(Debug, Clone)]
pub(crate) struct LabelledCounters {
    label: &'static str,
    pub(super) family: Family<Label, Counter>,
}

impl LabelledCounters {
    /// All values are exported from the start, at 0.
    fn new(label: &'static str, values: impl IntoIterator<Item = &'static str>) -> Self {
        let counters = Self { label, family: Family::default() };
        for value in values {
            drop(counters.family.get_or_create(&[(label, value)]));
        }
        counters
    }

    pub(crate) fn inc(&self, value: &'static str) {
        self.family.get_or_create(&[(self.label, value)]).inc();
    }
}

/// Measures durations in seconds.
#[derive(Debug, Clone)]
pub(crate) struct DurationHistogram(pub(super) Histogram);

impl DurationHistogram {
    fn new(bounds: [f64; 13]) -> Self {
        Self(Histogram::new(bounds))
    }

    pub(crate) fn observe(&self, took: Duration) {
        self.0.observe(took.as_secs_f64());
    }
}

/// Counted as it happens.
#[derive(Debug)]
pub(crate) struct DaemonMetrics {
    /// Accepted launches.
    pub(crate) launches: Counter,
    /// From accepting a launch, or from its turn in the queue, until the agent runs.
    pub(crate) launch: DurationHistogram,
    /// From the first request for a stop until the launch is over.
    pub(crate) stop: DurationHistogram,
    pub(super) ended: LabelledCounters,
    /// Ended launches that were seen to be gone.
    pub(crate) reaped: Counter,
    pub(crate) keepers_lost: Counter,
    pub(crate) orphans_ended: Counter,
    pub(crate) strays_found: Counter,
    pub(crate) strays_ended: Counter,
    pub(crate) reports_taken: Counter,
    pub(crate) reports_refused: LabelledCounters,
    pub(crate) cleanups_failed: Counter,
    pub(super) judged: LabelledCounters,
    pub(crate) retries: Counter,
    pub(crate) restarts: Counter,
    /// Bytes in the journals of ended launches.
    pub(crate) output: Counter,
    pub(crate) output_dropped: Counter,
    pub(crate) output_unknown: Counter,
    /// Commits of the register that recorded something.
    pub(super) register_commits: DurationHistogram,
    pub(super) register_failed: Counter,
    pub(super) register_events: Counter,
}

impl Default for DaemonMetrics {
    fn default() -> Self {
        Self {
            launches: Counter::default(),
            launch: DurationHistogram::new(LAUNCH),
            stop: DurationHistogram::new(LAUNCH),
            ended: LabelledCounters::new("reason", REASONS),
            reaped: Counter::default(),
            keepers_lost: Counter::default(),
            orphans_ended: Counter::default(),
            strays_found: Counter::default(),
            strays_ended: Counter::default(),
            reports_taken: Counter::default(),
            reports_refused: LabelledCounters::new("code", DISBELIEFS),
            cleanups_failed: Counter::default(),
            judged: LabelledCounters::new("verdict", VerdictKind::ALL.map(VerdictKind::name)),
            retries: Counter::default(),
            restarts: Counter::default(),
            output: Counter::default(),
            output_dropped: Counter::default(),
            output_unknown: Counter::default(),
            register_commits: DurationHistogram::new(COMMIT),
            register_failed: Counter::default(),
            register_events: Counter::default(),
        }
    }
}

impl DaemonMetrics {
    /// Counts a launch that is over.
    pub(crate) fn ended(&self, reason: Option<&Reason>) {
        self.ended.inc(reason::name(reason));
    }

    /// Counts a commit of the register.
    pub(crate) fn committed(&self, commit: CommitReport) {
        if commit.recorded > 0 {
            self.register_commits.observe(commit.took);
        }
        self.register_failed.inc_by(commit.failed);
        self.register_events.inc_by(commit.events);
    }

    /// Counts the verdict of a prompt.
    pub(crate) fn judged(&self, kind: VerdictKind) {
        self.judged.inc(kind.name());
    }
}

//! What has happened since this daemon started.

use std::path::Path;
use std::time::Duration;

use kennel_keeper::journal::JournalReader;
use kennel_register::CommitReport;
use kennel_types::{Reason, VerdictKind};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use crate::error::REPORT_REFUSAL_CODES;
use crate::os::home::JOURNAL;

/// Upper bounds in seconds, from a fast launch to one with a worktree of a large repository; also
/// for stops.
const LAUNCH_BUCKETS: [f64; 13] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Upper bounds in seconds, from a commit without a flush to one on a slow disk.
const COMMIT_BUCKETS: [f64; 13] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
const REASONS: [&str; 14] = [
    "exited",
    "stopped",
    "client_gone",
    "parent_ended",
    "shutdown",
    "failed",
    "lease_over",
    "not_ready",
    "timed_out",
    "idle",
    "silent",
    "keeper_died",
    "rebooted",
    "forgotten",
];

#[derive(Debug, Clone)]
pub(crate) struct LabelledCounters {
    label: &'static str,
    family: Family<[(&'static str, &'static str); 1], Counter>,
}

impl LabelledCounters {
    pub(crate) fn inc(&self, value: &'static str) {
        self.family.get_or_create(&[(self.label, value)]).inc();
    }
}

#[derive(Debug, Clone)]
pub(crate) struct DurationHistogram(Histogram);

impl DurationHistogram {
    pub(crate) fn observe(&self, took: Duration) {
        self.0.observe(took.as_secs_f64());
    }
}

/// The daemon's counters. The registry holds each of them with its name and description.
#[derive(Debug)]
pub(crate) struct DaemonMetrics {
    pub(super) registry: Registry,
    pub(crate) launches: Counter,
    pub(crate) launch: DurationHistogram,
    pub(crate) stop: DurationHistogram,
    ended: LabelledCounters,
    pub(crate) reaped: Counter,
    pub(crate) keepers_lost: Counter,
    pub(crate) strays_found: Counter,
    pub(crate) strays_ended: Counter,
    pub(crate) reports_taken: Counter,
    pub(crate) reports_refused: LabelledCounters,
    pub(crate) cleanups_failed: Counter,
    judged: LabelledCounters,
    pub(crate) retries: Counter,
    pub(crate) restarts: Counter,
    output: Counter,
    output_dropped: Counter,
    output_unknown: Counter,
    register_commits: DurationHistogram,
    register_failed: Counter,
    register_events: Counter,
}

/// Adds metrics to the registry; their names get the prefix `kennel_`.
struct Adder(Registry);

impl Adder {
    fn add<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }

    fn count(&mut self, name: &str, help: &str) -> Counter {
        self.add(name, help, Counter::default())
    }

    fn time(&mut self, name: &str, help: &str, bounds: [f64; 13]) -> DurationHistogram {
        DurationHistogram(self.add(name, help, Histogram::new(bounds)))
    }

    /// All values of the label are exported from the start, at 0.
    fn count_by(
        &mut self,
        label: &'static str,
        values: impl IntoIterator<Item = &'static str>,
        name: &str,
        help: &str,
    ) -> LabelledCounters {
        let counters = LabelledCounters { label, family: self.add(name, help, Family::default()) };
        for value in values {
            drop(counters.family.get_or_create(&[(label, value)]));
        }
        counters
    }
}

impl Default for DaemonMetrics {
    fn default() -> Self {
        let mut out = Adder(Registry::with_prefix("kennel"));
        let launches = "Accepted launches, including queued ones and further launches of a session";
        let launch = "From accepting a launch, or from its turn in the queue, until its agent runs";
        let stop = "From the first request to stop a launch until it is over";
        let ended = "Launches that are over, by reason";
        let reaped = "Launches seen to be gone: all ended ones except forgotten ones";
        let lost = "Keepers that died or did not answer before their launch was over";
        let found =
            "Strays found before an attempt to end them; one that survives counts again next time";
        let refused = "Reports that were refused, by code; `spent` ones came too late";
        let judged = "Attempts at prompts that were judged, by verdict";
        let retries = "Attempts at prompts that followed a failed one";
        let output = "Bytes of output, read from the journals of launches when they are over";
        let dropped = "Bytes of these that were dropped because of the limit of a journal; gaps left by full disks and killed \
                       keepers are only in the journal";
        let commits = "Duration of the register's commits, with the flush of durable ones; many writes share one";
        let verdicts = VerdictKind::ALL.iter().map(|kind| kind.name());
        Self {
            launches: out.count("launches", launches),
            launch: out.time("launch_duration_seconds", launch, LAUNCH_BUCKETS),
            stop: out.time("stop_duration_seconds", stop, LAUNCH_BUCKETS),
            ended: out.count_by("reason", REASONS, "launches_ended", ended),
            reaped: out.count("launches_reaped", reaped),
            keepers_lost: out.count("keepers_lost", lost),
            strays_found: out.count("strays_found", found),
            strays_ended: out.count("strays_ended", "Strays that were ended and seen to be gone"),
            reports_taken: out.count("reports_taken", "Accepted reports of agents"),
            reports_refused: out.count_by("code", REPORT_REFUSAL_CODES, "reports_refused", refused),
            cleanups_failed: out.count("cleanup_failures", "Failed cleanups; each is retried"),
            judged: out.count_by("verdict", verdicts, "prompts_judged", judged),
            retries: out.count("prompt_retries", retries),
            restarts: out.count("restarts", "Launches started by the restart policy"),
            output: out.count("output_bytes", output),
            output_dropped: out.count("output_dropped_bytes", dropped),
            output_unknown: out
                .count("output_unknown", "Ended launches whose journal could not be read"),
            register_commits: out.time("register_commit_duration_seconds", commits, COMMIT_BUCKETS),
            register_failed: out.count("register_write_failures", "Failed writes to the register"),
            register_events: out.count("register_events", "Rows written to the event log"),
            registry: out.0,
        }
    }
}

impl DaemonMetrics {
    /// Counts a launch that is over; one without a reason ended by itself.
    pub(crate) fn ended(&self, reason: Option<&Reason>) {
        self.ended.inc(reason.map_or("exited", Reason::name));
    }

    pub(crate) fn committed(&self, commit: CommitReport) {
        if commit.recorded > 0 {
            self.register_commits.observe(commit.took);
        }
        self.register_failed.inc_by(commit.failed);
        self.register_events.inc_by(commit.events);
    }

    pub(crate) fn judged(&self, kind: VerdictKind) {
        self.judged.inc(kind.name());
    }
}

/// Counts the output of an ended launch. Output does not pass through the daemon, so it is counted
/// once: the journal's first and last offsets give the total and how much was dropped. Blocks.
pub(crate) fn count_output(metrics: &DaemonMetrics, folder: &Path) {
    let journal = folder.join(JOURNAL);
    let offsets =
        JournalReader::open(&journal).and_then(|reader| Ok((reader.start()?, reader.end()?)));
    match offsets {
        Ok((start, end)) => {
            metrics.output.inc_by(end);
            metrics.output_dropped.inc_by(start.min(end));
        }
        Err(error) => {
            metrics.output_unknown.inc();
            tracing::debug!(%error, "can't read the journal of an ended launch");
        }
    }
}

#[cfg(test)]
mod tests {
    use kennel_keeper::journal::{JournalWriter, MIN_LIMIT, STDOUT};
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn names_are_those_in_json() {
        let (by, why) = (String::new(), String::new());
        let limit = Duration::ZERO;
        let all = [
            Reason::Exited,
            Reason::Stopped { by: by.clone() },
            Reason::ClientGone,
            Reason::ParentEnded,
            Reason::Shutdown,
            Reason::Failed { code: kennel_types::LaunchFailure::Setup, why },
            Reason::LeaseOver,
            Reason::NotReady { after: limit, saw: None },
            Reason::TimedOut { limit },
            Reason::Idle { limit },
            Reason::Silent { limit },
            Reason::KeeperDied,
            Reason::Rebooted,
            Reason::Forgotten { by },
        ];
        assert_eq!(all.each_ref().map(|reason| reason.name()), REASONS);
        for reason in &all {
            assert_eq!(serde_json::to_value(reason).unwrap()["kind"], reason.name());
        }
    }

    #[test]
    fn counts_all_output_and_how_much_was_dropped() {
        let (metrics, folder) = (DaemonMetrics::default(), tempfile::tempdir().unwrap());
        count_output(&metrics, folder.path());
        assert_eq!(
            (metrics.output.get(), metrics.output_unknown.get()),
            (0, 0),
            "it has printed nothing"
        );
        let mut writer = JournalWriter::create(&folder.path().join(JOURNAL), MIN_LIMIT).unwrap();
        let data = vec![b'x'; 1 << 14];
        let total = 4 * MIN_LIMIT;
        let mut printed = 0;
        while printed < total {
            let _all_of_it = writer.append(STDOUT, 0, &data);
            printed += data.len() as u64;
        }
        count_output(&metrics, folder.path());
        assert_eq!(metrics.output.get(), printed);
        let dropped = metrics.output_dropped.get();
        assert!(dropped >= printed - MIN_LIMIT && dropped < printed, "{dropped} of {printed}");
    }

    #[test]
    fn every_labelled_counter_starts_at_zero() {
        let mut text = String::new();
        encode(&mut text, &DaemonMetrics::default().registry).unwrap();
        assert!(text.contains("kennel_reports_refused_total{code=\"spent\"} 0\n"), "{text}");
    }
}

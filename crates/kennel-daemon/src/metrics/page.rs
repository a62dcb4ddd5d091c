//! The metrics page. `docs/metrics.md` lists the same metrics; a test compares the two.

use std::fmt::{self, Write as _};
use std::sync::atomic::AtomicU64;

use kennel_register::Register;
use kennel_sys::identity::ProcessStat;
use kennel_types::Phase;
use kennel_types::plan::PlanStatus;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use rustix::process::Resource;

use super::counters::DaemonMetrics;
use crate::os::headroom::open_descriptors;

pub(crate) const PHASES: [Phase; 10] = [
    Phase::Queued,
    Phase::Making,
    Phase::Reserved,
    Phase::Launching,
    Phase::Starting,
    Phase::Running,
    Phase::Stopping,
    Phase::Lost,
    Phase::Reaped,
    Phase::Cleaned,
];

/// All states of plans, with their names in JSON.
pub(crate) const PLAN_STATES: [(PlanStatus, &str); 6] = [
    (PlanStatus::Running, "running"),
    (PlanStatus::Stopping, "stopping"),
    (PlanStatus::Succeeded, "succeeded"),
    (PlanStatus::Failed, "failed"),
    (PlanStatus::TimedOut, "timed_out"),
    (PlanStatus::Cancelled, "cancelled"),
];

pub(crate) const OWED_KINDS: [&str; 3] = ["runtime_files", "pen_folder", "worktree"];

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Gauges {
    /// Sessions by the phase of their latest launch, as in [`PHASES`].
    pub(crate) phases: [u64; PHASES.len()],
    /// Cleanups that ended launches still owe, as in [`OWED_KINDS`].
    pub(crate) owed: [u64; OWED_KINDS.len()],
    pub(crate) worktrees_kept: u64,
    pub(crate) plans: [u64; PLAN_STATES.len()],
    pub(crate) members: u64,
    pub(crate) spare_keepers: u64,
    /// When the daemon started, in milliseconds since 1970.
    pub(crate) started_ms: u64,
    pub(crate) version: String,
}

/// Returns all metrics, in Prometheus's text format 0.0.4.
pub(crate) fn page(
    metrics: &DaemonMetrics,
    gauges: &Gauges,
    register: &Register,
) -> Result<String, fmt::Error> {
    let mut current = Registry::default();
    sessions(&mut current, gauges);
    let help = "Flushes to the disk, including those that SQLite makes by itself";
    current.register("kennel_register_flushes", help, ConstCounter::new(register.flushes()));
    daemon(&mut current, gauges);
    own_process(&mut current);
    let mut text = String::new();
    encode(&mut text, &metrics.registry)?;
    encode(&mut text, &current)?;
    text_format(&text)
}

/// Converts OpenMetrics to the older format, which every scraper reads: there the name of a
/// counter's family ends in `_total`, too.
fn text_format(open_metrics: &str) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        if let Some(family) = line.strip_prefix("# HELP ") {
            help = family.split_once(' ').map(|(_, help)| help);
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|family| family.split_once(' '))
        {
            let suffix = if kind == "counter" { "_total" } else { "" };
            let help = help.take().unwrap_or_default();
            writeln!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}")?;
        } else {
            writeln!(text, "{line}")?;
        }
    }
    Ok(text)
}

fn labelled<'a>(
    label: &'static str,
    samples: impl IntoIterator<Item = (&'a str, u64)>,
) -> Family<[(&'static str, String); 1], Gauge<u64, AtomicU64>> {
    let family = Family::<_, Gauge<u64, AtomicU64>>::default();
    for (value, number) in samples {
        family.get_or_create(&[(label, value.to_owned())]).set(number);
    }
    family
}

fn sessions(out: &mut Registry, gauges: &Gauges) {
    let phases = PHASES.map(Phase::name).into_iter().zip(gauges.phases);
    let help = "Sessions on record, by the phase of their latest launch";
    out.register("kennel_sessions", help, labelled("phase", phases));
    let help = "Keepers that wait for another launch";
    out.register("kennel_spare_keepers", help, ConstGauge::new(gauges.spare_keepers));
    let owed = OWED_KINDS.into_iter().zip(gauges.owed);
    let help = "Cleanups that launches still owe after their end, by kind";
    out.register("kennel_owed_cleanups", help, labelled("kind", owed));
    let help = "Worktrees of ended launches that are kept for their content";
    out.register("kennel_worktrees_kept", help, ConstGauge::new(gauges.worktrees_kept));
    out.register("kennel_members", "Members on record", ConstGauge::new(gauges.members));
    let plans = PLAN_STATES.map(|(_, name)| name).into_iter().zip(gauges.plans);
    out.register("kennel_plans", "Plans on record, by state", labelled("state", plans));
}

fn daemon(out: &mut Registry, gauges: &Gauges) {
    let version = labelled("version", [(gauges.version.as_str(), 1)]);
    out.register("kennel_build_info", "The version of the program; always 1", version);
    #[expect(clippy::cast_precision_loss, reason = "a time of day")]
    let started = gauges.started_ms as f64 / 1000.0;
    let help = "When the daemon started to serve, in seconds since 1970";
    out.register("kennel_daemon_start_time_seconds", help, ConstGauge::new(started));
}

/// Resource usage of the daemon itself. It is read from `/proc`, which never waits for a disk; a
/// value that can't be read is not exported.
#[expect(
    clippy::cast_precision_loss,
    reason = "ticks of many years, and a limit that may be infinite"
)]
fn own_process(out: &mut Registry) {
    if let Ok(Some(stat)) = ProcessStat::read(rustix::process::getpid().as_raw_pid()) {
        let bytes = stat.resident_pages * rustix::param::page_size() as u64;
        let help = "Memory of the daemon itself";
        out.register("process_resident_memory_bytes", help, ConstGauge::new(bytes));
        let seconds = stat.cpu_ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
        let help = "CPU time of the daemon itself";
        out.register("process_cpu_seconds", help, ConstCounter::new(seconds));
        out.register("process_threads", "Threads of the daemon", ConstGauge::new(stat.threads));
    }
    if let Some(open) = open_descriptors("/proc/self/fd".as_ref()) {
        out.register("process_open_fds", "Open descriptors of the daemon", ConstGauge::new(open));
    }
    let help = "How many descriptors the daemon may open";
    // Prometheus parses infinity in any spelling.
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    let limit = limit.map_or(f64::INFINITY, |limit| limit as f64);
    out.register("process_max_fds", help, ConstGauge::new(limit));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_of_a_counter_ends_in_total_and_a_label_is_escaped() {
        let mut registry = Registry::default();
        registry.register("a", "How many", ConstCounter::new(3_u64));
        registry.register("b", "By kind", labelled("kind", [("x\"\n", 1)]));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert_eq!(
            text_format(&text).unwrap(),
            "# HELP a_total How many.\n# TYPE a_total counter\na_total 3\n\
             # HELP b By kind.\n# TYPE b gauge\nb{kind=\"x\\\"\\n\"} 1\n"
        );
    }

    #[test]
    fn the_usage_of_this_process_is_exported() {
        let mut registry = Registry::default();
        own_process(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse::<f64>().unwrap()
        };
        assert!(value("process_resident_memory_bytes ") > 100_000.0, "{text}");
        assert!(value("process_threads ") >= 1.0 && value("process_open_fds ") >= 3.0, "{text}");
        assert!(value("process_cpu_seconds_total ") >= 0.0, "{text}");
    }

    #[test]
    fn states_have_their_names_in_json() {
        for (state, name) in PLAN_STATES {
            assert_eq!(serde_json::to_value(state).unwrap(), name);
        }
        assert!(PHASES.is_sorted());
    }
}

//! The metrics page. `docs/metrics.md` lists the same metrics; a test compares the two.

use std::fmt::{self, Write as _};
use std::sync::atomic::AtomicU64;

use kennel_register::Register;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use super::counters::DaemonMetrics;
use super::gauges::{Gauges, OWED_KINDS, PHASES, PLAN_STATES};
use super::own_process::OwnProcess;
use crate::owner::phase_name;

/// Where the values come from.
#[derive(Debug)]
pub(crate) struct MetricSources<'a> {
    pub(crate) metrics: &'a DaemonMetrics,
    pub(crate) gauges: &'a Gauges,
    pub(crate) register: &'a Register,
    pub(crate) own: OwnProcess,
}

/// All metrics, in Prometheus's text format 0.0.4.
pub(crate) fn page(sources: &MetricSources<'_>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    sessions(&mut registry, sources);
    strays_and_reports(&mut registry, sources.metrics);
    prompts(&mut registry, sources);
    output(&mut registry, sources.metrics);
    register(&mut registry, sources);
    daemon(&mut registry, sources);
    let mut text = String::new();
    encode(&mut text, &registry)?;
    text_format(&text)
}

/// Converts OpenMetrics to the older format, which every scraper reads: there the name of a counter's family ends in
/// `_total`, too.
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
) -> Family<[(&'static str, String); 1], Gauge<u64, AtomicU64>>
where
    [(&'static str, String); 1]: EncodeLabelSet,
{
    let family = Family::<[(&'static str, String); 1], Gauge<u64, AtomicU64>>::default();
    for (value, number) in samples {
        family.get_or_create(&[(label, value.to_owned())]).set(number);
    }
    family
}

fn sessions(out: &mut Registry, MetricSources { metrics, gauges, .. }: &MetricSources<'_>) {
    let phases = PHASES.map(phase_name).into_iter().zip(gauges.phases);
    let help = "Sessions on record, by the phase of their latest launch";
    out.register("kennel_sessions", help, labelled("phase", phases));
    let help = "Accepted launches, including queued ones and further launches of a session";
    out.register("kennel_launches", help, metrics.launches.clone());
    let help = "From accepting a launch, or from its turn in the queue, until its agent runs";
    out.register("kennel_launch_duration_seconds", help, metrics.launch.0.clone());
    let help = "From the first request to stop a launch until it is over";
    out.register("kennel_stop_duration_seconds", help, metrics.stop.0.clone());
    let help = "Launches that are over, by reason";
    out.register("kennel_launches_ended", help, metrics.ended.family.clone());
    let help = "Launches seen to be gone: all ended ones except those that a person forgot";
    out.register("kennel_launches_reaped", help, metrics.reaped.clone());
    let help = "Keepers that died or did not answer before their launch was over";
    out.register("kennel_keepers_lost", help, metrics.keepers_lost.clone());
    let help = "Keepers that wait for another launch";
    out.register("kennel_spare_keepers", help, ConstGauge::new(gauges.spare_keepers));
    let owed = OWED_KINDS.into_iter().zip(gauges.owed);
    let help = "Cleanups that launches still owe after their end, by kind";
    out.register("kennel_owed_cleanups", help, labelled("kind", owed));
    let help = "Failed cleanups; each is retried";
    out.register("kennel_cleanup_failures", help, metrics.cleanups_failed.clone());
    let help = "Worktrees of ended launches that are kept for their content";
    out.register("kennel_worktrees_kept", help, ConstGauge::new(gauges.worktrees_kept));
    let help = "Launches started by the restart policy";
    out.register("kennel_restarts", help, metrics.restarts.clone());
}

fn strays_and_reports(out: &mut Registry, metrics: &DaemonMetrics) {
    let help =
        "Strays found before an attempt to end them; one that survives counts again next time";
    out.register("kennel_strays_found", help, metrics.strays_found.clone());
    let help = "Strays that were ended and seen to be gone";
    out.register("kennel_strays_ended", help, metrics.strays_ended.clone());
    let help = "Processes that became children of the yard when their keeper or the daemon died, and were ended";
    out.register("kennel_orphans_ended", help, metrics.orphans_ended.clone());
    let help = "Accepted reports of agents";
    out.register("kennel_reports_taken", help, metrics.reports_taken.clone());
    let help = "Reports that were refused, by code; `spent` ones came too late";
    out.register("kennel_reports_refused", help, metrics.reports_refused.family.clone());
}

fn prompts(out: &mut Registry, MetricSources { metrics, gauges, .. }: &MetricSources<'_>) {
    let help = "Attempts at prompts that were judged, by verdict";
    out.register("kennel_prompts_judged", help, metrics.judged.family.clone());
    let help = "Attempts at prompts that followed a failed one";
    out.register("kennel_prompt_retries", help, metrics.retries.clone());
    out.register("kennel_members", "Members on record", ConstGauge::new(gauges.members));
    let plans = PLAN_STATES.map(|(_, name)| name).into_iter().zip(gauges.plans);
    out.register("kennel_plans", "Plans on record, by state", labelled("state", plans));
}

fn output(out: &mut Registry, metrics: &DaemonMetrics) {
    let help = "Bytes of output, read from the journals of launches when they are over";
    out.register("kennel_output_bytes", help, metrics.output.clone());
    let help = "Bytes of these that were dropped because of the limit of a journal; gaps left by full disks and killed \
                keepers are only in the journal";
    out.register("kennel_output_dropped_bytes", help, metrics.output_dropped.clone());
    let help = "Ended launches whose journal could not be read";
    out.register("kennel_output_unknown", help, metrics.output_unknown.clone());
}

fn register(out: &mut Registry, MetricSources { metrics, register, .. }: &MetricSources<'_>) {
    let help =
        "Duration of the register's commits, with the flush of durable ones; many writes share one";
    out.register(
        "kennel_register_commit_duration_seconds",
        help,
        metrics.register_commits.0.clone(),
    );
    let help = "Failed writes to the register";
    out.register("kennel_register_write_failures", help, metrics.register_failed.clone());
    let help = "Flushes to the disk, including those that SQLite makes by itself";
    out.register("kennel_register_flushes", help, ConstCounter::new(register.flushes()));
    let help = "Rows written to the event log";
    out.register("kennel_register_events", help, metrics.register_events.clone());
}

fn daemon(out: &mut Registry, MetricSources { gauges, own, .. }: &MetricSources<'_>) {
    let version = labelled("version", [(gauges.version.as_str(), 1)]);
    out.register("kennel_build_info", "The version of the program; always 1", version);
    #[expect(clippy::cast_precision_loss, reason = "a time of day")]
    let started = gauges.started_ms as f64 / 1000.0;
    let help = "When the daemon started to serve, in seconds since 1970";
    out.register("kennel_daemon_start_time_seconds", help, ConstGauge::new(started));
    if let Some(bytes) = own.resident_bytes {
        let help = "Memory of the daemon itself";
        out.register("process_resident_memory_bytes", help, ConstGauge::new(bytes));
    }
    if let Some(seconds) = own.cpu_seconds {
        let help = "CPU time of the daemon itself";
        out.register("process_cpu_seconds", help, ConstCounter::new(seconds));
    }
    if let Some(threads) = own.threads {
        out.register("process_threads", "Threads of the daemon", ConstGauge::new(threads));
    }
    if let Some(open) = own.descriptors {
        out.register("process_open_fds", "Open descriptors of the daemon", ConstGauge::new(open));
    }
    let help = "How many descriptors the daemon may open";
    // Prometheus parses infinity in any spelling.
    #[expect(clippy::cast_precision_loss, reason = "it may be unlimited, which is no integer")]
    let limit = own.max_descriptors.map_or(f64::INFINITY, |limit| limit as f64);
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
    fn every_labelled_counter_starts_at_zero() {
        let mut registry = Registry::default();
        strays_and_reports(&mut registry, &DaemonMetrics::default());
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert!(text.contains("kennel_reports_refused_total{code=\"spent\"} 0\n"), "{text}");
    }
}

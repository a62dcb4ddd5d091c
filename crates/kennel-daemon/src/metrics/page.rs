//! The whole page, family by family. `docs/metrics.md` lists the same; a test holds the two against each other.

use super::exposition::{Exposition, Kind};
use super::gauges::{Gauges, OWED_KINDS, PHASES, PLAN_STATES};
use super::own_process::OwnProcess;
use super::tally::Tally;
use crate::owner::phase_name;
use kennel_register::Register;

/// Where the figures come from.
#[derive(Debug)]
pub(crate) struct Sources<'a> {
    pub(crate) tally: &'a Tally,
    pub(crate) gauges: &'a Gauges,
    pub(crate) register: &'a Register,
    pub(crate) own: OwnProcess,
}

/// Writes all that is known.
pub(crate) fn page(sources: &Sources<'_>) -> String {
    let mut out = Exposition::default();
    sessions(&mut out, sources);
    strangers(&mut out, sources.tally);
    prompts(&mut out, sources);
    output(&mut out, sources.tally);
    register(&mut out, sources);
    daemon(&mut out, sources);
    out.into_text()
}

fn sessions(out: &mut Exposition, Sources { tally, gauges, .. }: &Sources<'_>) {
    let help = "Sessions on record, by the phase of their latest launch.";
    let phases = PHASES.map(phase_name).into_iter().zip(gauges.phases);
    out.by(("kennel_sessions", Kind::Gauge, help), "phase", phases);
    let help = "Launches that were taken in, those that waited in line and further ones of a session included.";
    out.counter("kennel_launches_total", help, tally.launches.get());
    let help = "From a launch being taken in, or its turn in line coming, to its agent running.";
    out.histogram("kennel_launch_duration_seconds", help, &tally.launch);
    let help = "From the first wish for a launch's end, whoever's it was, to its being over.";
    out.histogram("kennel_stop_duration_seconds", help, &tally.stop);
    let help = "Launches that are over, by reason.";
    out.by(("kennel_launches_ended_total", Kind::Counter, help), "reason", tally.ended.all());
    let help =
        "Launches that are over and were seen to be gone: all but those that a person gave up.";
    out.counter("kennel_launches_reaped_total", help, tally.reaped.get());
    let help = "Keepers that died, or did not answer, before their launch was over.";
    out.counter("kennel_keepers_lost_total", help, tally.keepers_lost.get());
    let help = "Keepers that wait for another launch.";
    out.gauge("kennel_spare_keepers", help, gauges.spare_keepers);
    let help = "What launches that are over have still to be cleaned up, by kind.";
    let owed = OWED_KINDS.into_iter().zip(gauges.owed);
    out.by(("kennel_owed_cleanups", Kind::Gauge, help), "kind", owed);
    let help = "Clean-ups that failed; each is tried again.";
    out.counter("kennel_cleanup_failures_total", help, tally.clean_ups_failed.get());
    let help = "Worktrees of launches that are over, kept for what is in them.";
    out.gauge("kennel_worktrees_kept", help, gauges.worktrees_kept);
    let help = "Launches made again by the restart policy.";
    out.counter("kennel_restarts_total", help, tally.restarts.get());
}

fn strangers(out: &mut Exposition, tally: &Tally) {
    let help = "Strays found by whoever was about to end them; one that could not be ended counts again next time.";
    out.counter("kennel_strays_found_total", help, tally.strays_found.get());
    let help = "Strays that were ended, and seen to be gone.";
    out.counter("kennel_strays_ended_total", help, tally.strays_ended.get());
    let help =
        "Processes that fell to the yard when their keeper or the daemon died, and were ended.";
    out.counter("kennel_orphans_ended_total", help, tally.orphans_ended.get());
    let help = "Reports of agents that were believed.";
    out.counter("kennel_reports_taken_total", help, tally.reports_taken.get());
    let help = "Reports that were refused, by code; `spent` ones came too late.";
    let refused = tally.reports_refused.all();
    out.by(("kennel_reports_refused_total", Kind::Counter, help), "code", refused);
}

fn prompts(out: &mut Exposition, Sources { tally, gauges, .. }: &Sources<'_>) {
    let help = "Attempts at prompts that were judged, by verdict.";
    out.by(("kennel_prompts_judged_total", Kind::Counter, help), "verdict", tally.judged.all());
    let help = "Attempts at prompts that were made because a former one failed.";
    out.counter("kennel_prompt_retries_total", help, tally.retries.get());
    let help = "Members on record.";
    out.gauge("kennel_members", help, gauges.members);
    let help = "Plans on record, by state.";
    let plans = PLAN_STATES.map(|(_, name)| name).into_iter().zip(gauges.plans);
    out.by(("kennel_plans", Kind::Gauge, help), "state", plans);
}

fn output(out: &mut Exposition, tally: &Tally) {
    let help = "Bytes that launches printed, taken from their journals when they were over; live ones are not in it.";
    out.counter("kennel_output_bytes_total", help, tally.output.get());
    let help = "Bytes of these that were given up for the limit of a journal. Gaps within what is kept, left by \
                full disks and killed keepers, are told in the journal alone.";
    out.counter("kennel_output_dropped_bytes_total", help, tally.output_dropped.get());
    let help = "Launches that were over and whose journal could not be looked at.";
    out.counter("kennel_output_unknown_total", help, tally.output_unknown.get());
}

fn register(out: &mut Exposition, Sources { tally, register, .. }: &Sources<'_>) {
    let help = "What the register's commits took, the flush of durable ones included; many writes share one.";
    out.histogram("kennel_register_commit_duration_seconds", help, &tally.register_commits);
    let help = "Writes that the register did not take.";
    out.counter("kennel_register_write_failures_total", help, tally.register_failed.get());
    let help = "Flushes to the disk, those that SQLite makes by itself included.";
    out.counter("kennel_register_flushes_total", help, register.flushes());
    let help = "Rows written to the log of events.";
    out.counter("kennel_register_events_total", help, tally.register_events.get());
}

fn daemon(out: &mut Exposition, Sources { gauges, own, .. }: &Sources<'_>) {
    let help = "The program that serves; always 1.";
    let version = [(gauges.version.as_str(), 1)];
    out.by(("kennel_build_info", Kind::Gauge, help), "version", version);
    let help = "When the daemon began to serve, in seconds since 1970.";
    #[expect(clippy::cast_precision_loss, reason = "a time of day")]
    out.gauge("kennel_daemon_start_time_seconds", help, gauges.started_ms as f64 / 1000.0);
    if let Some(bytes) = own.resident_bytes {
        let help = "Memory of the daemon itself.";
        out.gauge("process_resident_memory_bytes", help, bytes);
    }
    if let Some(seconds) = own.cpu_seconds {
        let help = "CPU time of the daemon itself.";
        out.counter("process_cpu_seconds_total", help, seconds);
    }
    if let Some(threads) = own.threads {
        out.gauge("process_threads", "Threads of the daemon.", threads);
    }
    if let Some(open) = own.descriptors {
        out.gauge("process_open_fds", "Descriptors that the daemon has open.", open);
    }
    let help = "Descriptors that it may have open.";
    #[expect(clippy::cast_precision_loss, reason = "it may be unlimited, which is no whole number")]
    let most = own.descriptors_most.map_or(f64::INFINITY, |most| most as f64);
    out.gauge("process_max_fds", help, most);
}

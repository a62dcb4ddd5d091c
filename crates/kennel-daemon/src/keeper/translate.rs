//! Translates the types of pens and keepers into those of the core, and writes the texts of the
//! event log.

use std::time::Duration;

use kennel_core::{Event, PenEnd, Probe};
use kennel_keeper::protocol::{Cause, KeeperState, LaunchStage, Outcome};
use kennel_pen::Status;
use kennel_sys::reap::WaitStatus;
use kennel_types::{AgentReport, Exit, LaunchFailure, OwedKind, Reason, SessionSpec};

pub(crate) fn exit(status: &Status) -> Exit {
    match status {
        Status::Code(code) => Exit::Code { code: *code },
        Status::Signal { signal, core, oom } => {
            Exit::Signal { signal: *signal, core: *core, oom: *oom }
        }
        Status::Unknown(why) => Exit::Unknown { why: why.clone() },
    }
}

/// Returns how an agent ended, as the kernel reports it to processes other than its parent.
pub(crate) fn exit_by_kernel(ended: WaitStatus) -> Exit {
    match ended {
        WaitStatus::Code(code) => Exit::Code { code },
        WaitStatus::Signal { signal, core } => Exit::Signal { signal, core, oom: false },
    }
}

/// The time limits of a launch: its keeper reports which one has ended it, but not how long it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimeLimits {
    timeout: Option<Duration>,
    idle: Option<Duration>,
    silence: Option<Duration>,
}

impl From<&SessionSpec> for TimeLimits {
    fn from(spec: &SessionSpec) -> Self {
        Self { timeout: spec.timeout, idle: spec.idle, silence: spec.silence }
    }
}

/// The caller of a stop that only the keeper knows of.
const UNRECORDED: &str = "a client that is not on record";

/// Returns the end, and the reason if the keeper knows it.
pub(crate) fn end_of(outcome: &Outcome, limits: TimeLimits) -> (Exit, Option<Reason>) {
    let exit = outcome.status.as_ref().map_or(Exit::NeverRan, exit);
    let reason = match &outcome.cause {
        Cause::Ended | Cause::Dismissed => None,
        Cause::TimedOut => Some(Reason::TimedOut { limit: limits.timeout.unwrap_or_default() }),
        Cause::Idle => Some(Reason::Idle { limit: limits.idle.unwrap_or_default() }),
        Cause::Silent => Some(Reason::Silent { limit: limits.silence.unwrap_or_default() }),
        Cause::Failed { code, why } => {
            // A newer keeper may have codes that are unknown here.
            let code = LaunchFailure::try_from(*code).unwrap_or(LaunchFailure::Internal);
            Some(Reason::Failed { code, why: why.clone() })
        }
        Cause::LeaseOver => Some(Reason::LeaseOver),
        Cause::OwnerGone => Some(Reason::ClientGone),
        Cause::Stopped => Some(Reason::Stopped { by: UNRECORDED.to_owned() }),
    };
    (exit, reason)
}

pub(crate) fn gone(outcome: &Outcome, limits: TimeLimits) -> Event {
    match end_of(outcome, limits) {
        (Exit::NeverRan, Some(Reason::Failed { code, why })) => Event::LaunchFailed { code, why },
        (exit, reason) => Event::Gone { exit, reason },
    }
}

/// Returns what is owed after a keeper's last report, beyond what is owed anyway.
pub(crate) fn owed(outcome: &Outcome, pen: Option<&str>) -> Option<OwedKind> {
    let path = pen.filter(|_| outcome.folder_left)?;
    Some(OwedKind::PenFolder { path: path.to_owned() })
}

/// Returns what a keeper's state means to a daemon that has just started.
pub(crate) fn probe(state: &KeeperState, limits: TimeLimits) -> Probe {
    if let Some(outcome) = &state.outcome {
        let (exit, reason) = end_of(outcome, limits);
        return Probe::Over { exit, reason };
    }
    let Some(identity) = &state.identity else {
        return match state.stage {
            LaunchStage::Waiting | LaunchStage::Gated => Probe::Waiting,
            // The keeper ends what it created for a launch; its last report follows.
            LaunchStage::Running | LaunchStage::Ending | LaunchStage::Over => {
                Probe::Failed { why: "its keeper is about to end it".into() }
            }
        };
    };
    let pen = state.cgroup.as_ref().map(|path| path.display().to_string());
    let (pid, identity) = (identity.pid, identity.to_record());
    match state.stage {
        LaunchStage::Waiting | LaunchStage::Gated => Probe::Gated { identity, pid, pen },
        LaunchStage::Running | LaunchStage::Ending | LaunchStage::Over => Probe::Running {
            identity,
            pid,
            pen,
            ending: state.stage != LaunchStage::Running,
            exit: state.exited.as_ref().map(exit),
        },
    }
}

pub(crate) fn cause(event: &Event) -> String {
    let owned = |text: &str| text.to_owned();
    match event {
        Event::Recorded => owned("the record is durable"),
        Event::RecordFailed { why } => format!("not recorded: {why}"),
        Event::KeeperReady => owned("the keeper is ready"),
        Event::KeeperNotStarted { why } => format!("no keeper: {why}"),
        Event::Born { .. } => owned("the process exists"),
        Event::Opened => owned("the program runs"),
        Event::LaunchFailed { why, .. } => format!("the launch failed: {why}"),
        Event::TurnCame => owned("its turn came"),
        Event::Made { .. } => owned("its worktree was made"),
        Event::MakeFailed { why, .. } => format!("can't make its worktree: {why}"),
        Event::BecameReady { how } => format!("it is ready: {how}"),
        Event::ReadyOverdue { saw: None } => owned("it was not ready in time"),
        Event::ReadyOverdue { saw: Some(saw) } => format!("it was not ready in time: {saw}"),
        Event::Reported(report) => report_text(report),
        Event::Exited { exit } => exit.to_string(),
        Event::Gone { exit, reason } => match reason {
            Some(
                reason @ (Reason::LeaseOver
                | Reason::ClientGone
                | Reason::TimedOut { .. }
                | Reason::Idle { .. }
                | Reason::Silent { .. }),
            ) => format!("{reason}; {exit}"),
            _ => exit.to_string(),
        },
        Event::StillAlive { survivors } | Event::PenEnded(PenEnd::StillAlive { survivors }) => {
            format!("can't end {} processes", survivors.len())
        }
        Event::KeeperLost => owned("the keeper is lost"),
        Event::PenEnded(PenEnd::Empty { .. }) => owned("the pen was ended without its keeper"),
        Event::PenEnded(PenEnd::Unobservable { why } | PenEnd::Failed { why }) => why.clone(),
        Event::StopAsked(stop) => stop.reason.to_string(),
        Event::Probed(probe) => probe_text(probe),
        Event::Owes { .. } => owned("another cleanup is owed"),
        Event::CleanedUp { .. } => owned("cleaned up"),
        Event::Kept { why, .. } => format!("kept, because it contains something of value: {why}"),
        Event::CleanUpFailed { why, .. } => format!("not cleaned up: {why}"),
        Event::RetryDue => owned("a retry is due"),
        Event::Forgotten { by } => format!("forgotten by {by}"),
        Event::Restored => owned("the daemon was started"),
    }
}

/// Returns the caller that requested it, if there is one.
pub(crate) fn by(event: &Event) -> Option<String> {
    let by = match event {
        Event::StopAsked(stop) => match &stop.reason {
            Reason::Stopped { by } => by,
            _ => return None,
        },
        Event::Forgotten { by } => by,
        _ => return None,
    };
    Some(by.clone()).filter(|by| !by.is_empty())
}

fn report_text(report: &AgentReport) -> String {
    match report {
        AgentReport::Ready => "its agent reports that it is ready".into(),
        AgentReport::Busy => "its agent reports that it is busy".into(),
        AgentReport::Idle => "its agent reports that it is idle".into(),
        AgentReport::Title { title } => format!("its agent reports a title: {}", title.as_ref()),
        AgentReport::Progress { percent } => {
            format!("its agent reports {} % progress", u8::from(*percent))
        }
    }
}

fn probe_text(probe: &Probe) -> String {
    match probe {
        Probe::Waiting => "found before its launch".into(),
        Probe::Gated { .. } => "found behind its gate".into(),
        Probe::Running { .. } => "found running".into(),
        Probe::Over { exit, .. } => format!("found over: {exit}"),
        Probe::NoKeeper => "its keeper is gone".into(),
        Probe::Silent => "its keeper does not answer".into(),
        Probe::Rebooted => "the machine was restarted".into(),
        Probe::Failed { why } => format!("can't be probed: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: Option<Status>, cause: Cause) -> Outcome {
        Outcome { status, cause, ended_ms: 1, cpu: Duration::ZERO, folder_left: true }
    }

    #[test]
    fn a_missing_status_is_never_zero() {
        let dismissed = gone(&outcome(None, Cause::Dismissed), TimeLimits::default());
        assert_eq!(dismissed, Event::Gone { exit: Exit::NeverRan, reason: None });
        let unknown = Status::Unknown("no idea".into());
        assert!(matches!(exit(&unknown), Exit::Unknown { .. }));
    }

    #[test]
    fn an_end_by_a_time_limit_names_the_limit() {
        let limit = Duration::from_secs(7);
        let spec = SessionSpec { idle: Some(limit), ..SessionSpec::default() };
        let outcome = outcome(Some(Status::Code(0)), Cause::Idle);
        let (_, reason) = end_of(&outcome, TimeLimits::from(&spec));
        assert_eq!(reason, Some(Reason::Idle { limit }));
    }

    /// If the daemon is killed before it has recorded a stop, the end must not count as a failure,
    /// which would be retried.
    #[test]
    fn a_stop_that_only_the_keeper_knows_counts_as_a_stop() {
        let killed = Status::Signal { signal: 9, core: false, oom: false };
        let (_, reason) = end_of(&outcome(Some(killed), Cause::Stopped), TimeLimits::default());
        assert!(matches!(reason, Some(Reason::Stopped { .. })), "{reason:?}");
    }

    #[test]
    fn a_failed_launch_keeps_its_code() {
        let failed = Cause::Failed { code: 204, why: "no such file".into() };
        let event = gone(&outcome(None, failed), TimeLimits::default());
        assert_eq!(
            event,
            Event::LaunchFailed { code: LaunchFailure::Exec, why: "no such file".into() }
        );
    }

    #[test]
    fn a_cgroup_that_was_left_is_owed() {
        let outcome = outcome(Some(Status::Code(0)), Cause::Ended);
        let path = "/sys/fs/cgroup/x".to_owned();
        assert_eq!(owed(&outcome, Some(&path)), Some(OwedKind::PenFolder { path }));
        assert_eq!(owed(&outcome, None), None);
    }

    #[test]
    fn a_stage_without_an_outcome_is_never_over() {
        let state = |stage| KeeperState {
            stage,
            identity: None,
            cgroup: None,
            exited: None,
            outcome: None,
            journal_end: 0,
            open_for_ms: None,
        };
        assert_eq!(probe(&state(LaunchStage::Waiting), TimeLimits::default()), Probe::Waiting);
        assert!(matches!(
            probe(&state(LaunchStage::Ending), TimeLimits::default()),
            Probe::Failed { .. }
        ));
    }
}

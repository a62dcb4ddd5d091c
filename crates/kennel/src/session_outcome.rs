//! The outcome of a session: as an exit code and as text.

use kennel_keeper::protocol::{Cause, Outcome};
use kennel_pen::Status;
use kennel_types::{
    AgentActivity, Exit, OwedKind, Phase, ReadyState, Reason, RelaunchState, StartedBy,
};

use crate::command_prelude::*;
use crate::stopper::BY_OWNER;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionOutcome {
    /// The command's own exit status, as a shell shows it.
    Ended(i32),
    /// The program never ran.
    NeverRan,
    /// It could not be started, with the exit code for that.
    Failed {
        code: u8,
        why: String,
    },
    /// These processes could not be ended; Kennel keeps trying.
    StillAlive(Vec<String>),
    Unknown(String),
    /// This signal stopped it before it ran.
    StoppedBefore(i32),
}

impl SessionOutcome {
    /// Returns the outcome that the daemon has recorded.
    pub(crate) fn of(session: &SessionView) -> Self {
        if !session.survivors.is_empty() && session.phase < Phase::Reaped {
            return Self::StillAlive(session.survivors.iter().map(ToString::to_string).collect());
        }
        match (&session.exit, &session.reason) {
            (Some(Exit::Code { code }), _) => Self::Ended(*code),
            (Some(Exit::Signal { signal, .. }), _) => Self::Ended(128 + signal),
            (_, Some(Reason::Failed { code, why })) => {
                Self::Failed { code: (*code).into(), why: why.clone() }
            }
            (Some(Exit::NeverRan), _) => Self::NeverRan,
            (Some(Exit::Unknown { why }), _) => Self::Unknown(why.clone()),
            (None, _) => Self::Unknown(format!("the session is {}", session.phase.label())),
        }
    }

    /// Returns the outcome that the keeper has reported, if the daemon doesn't answer.
    pub(crate) fn of_outcome(outcome: &Outcome) -> Self {
        match (&outcome.status, &outcome.cause) {
            (_, Cause::Failed { code, why }) => Self::Failed { code: *code, why: why.clone() },
            (None, _) => Self::NeverRan,
            (Some(Status::Unknown(why)), _) => Self::Unknown(why.clone()),
            (Some(status), _) => match status.shell_code() {
                Some(code) => Self::Ended(code),
                None => Self::Unknown(status.to_string()),
            },
        }
    }

    /// Explains with our own stop why it never ran.
    pub(crate) fn stopped_by(self, signal: i32) -> Self {
        match self {
            Self::NeverRan => Self::StoppedBefore(signal),
            other => other,
        }
    }

    /// Returns the exit code, or an error if the code is not the command's own.
    pub(crate) fn exit_code(self) -> Result<u8, CommandError> {
        match self {
            Self::Ended(code) => Ok(u8::try_from(code & 0xff).unwrap_or(exit_code::UNKNOWN)),
            Self::StoppedBefore(signal) => Ok(exit_code::of_signal(signal)),
            Self::Failed { code, why } => Err(failed(code, &why)),
            Self::NeverRan => Err(CommandError::unknown("the program never ran")),
            Self::StillAlive(survivors) => {
                let list = survivors.iter().map(|s| format!("\n  {s}")).collect::<String>();
                Err(CommandError::because(
                    exit_code::STILL_ALIVE,
                    format!("still alive after KILL:{list}"),
                )
                .hint("the keeper still owns these processes and keeps trying to end them"))
            }
            Self::Unknown(why) => {
                Err(CommandError::unknown(format!("the exit status is unknown: {why}")))
            }
        }
    }
}

pub(crate) fn launch_failure(session: &SessionView) -> Option<CommandError> {
    match &session.reason {
        Some(Reason::Failed { code, why }) => Some(failed((*code).into(), why)),
        _ => None,
    }
}

fn failed(code: u8, why: &str) -> CommandError {
    let failure = CommandError::because(code, without_path(why));
    match code {
        exit_code::PEN => failure.hint("`kennel doctor` shows what this machine supports"),
        _ => failure,
    }
}

/// Removes the searched PATH, which is long; `kennel inspect` shows it.
fn without_path(why: &str) -> &str {
    const SUFFIX: &str = "\" in PATH";
    let begin = why.find("no program \"");
    let end = why.find(&format!("{SUFFIX} ("));
    match (begin, end) {
        (Some(begin), Some(end)) if begin < end => &why[begin..end + SUFFIX.len()],
        _ => why,
    }
}

/// Formats the phase of a session, with its queue position, pending restart and readiness.
pub(crate) fn state(session: &SessionView) -> String {
    if let Some(place) = session.queue_position {
        return format!("{} ({place})", session.phase.label());
    }
    let state = match (session.phase, session.ready) {
        (Phase::Running, _) if session.started_by == StartedBy::User => match session.exit {
            None => "running (adopted)",
            Some(_) => "ended (not reaped)",
        },
        _ if session.relaunch == RelaunchState::Pending => "restarting",
        (Phase::Running, ReadyState::Waiting) => "starting",
        (Phase::Running, ReadyState::Ready) => "running (ready)",
        (other, _) => other.label(),
    };
    state.to_owned()
}

pub(crate) fn reported(session: &SessionView) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(session.activity.map(|activity| match activity {
        AgentActivity::Busy => "busy".to_owned(),
        AgentActivity::Idle => "idle".to_owned(),
    }));
    parts.extend(session.progress.map(|percent| format!("{} %", u8::from(percent))));
    parts.extend(session.title.as_ref().map(|title| title.as_ref().to_owned()));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns what a user in the foreground would not expect.
pub(crate) fn notices(session: &SessionView) -> Vec<String> {
    let mut notices = Vec::new();
    match &session.reason {
        None | Some(Reason::Exited | Reason::Failed { .. }) => {}
        Some(Reason::Stopped { by }) if by.starts_with(BY_OWNER) => {}
        Some(other) => notices.push(other.to_string()),
    }
    if session.unrecorded {
        notices.push("the outcome could not be recorded".to_owned());
    }
    for kept in &session.kept {
        if let OwedKind::Worktree { path, .. } = &kept.what {
            notices.push(format!("worktree {} is kept: {}", sanitize(path), sanitize(&kept.why)));
        }
    }
    for owed in session.owed.iter().filter(|owed| owed.failures > 0) {
        if let (OwedKind::Worktree { path, .. }, Some(why)) = (&owed.what, &owed.why) {
            let (path, why) = (sanitize(path), sanitize(why));
            notices.push(format!("worktree {path} can't be removed yet: {why}"));
        }
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn outcome(status: Option<Status>, cause: Cause) -> Outcome {
        Outcome { status, cause, ended_ms: 0, cpu: Duration::ZERO, folder_left: false }
    }

    #[test]
    fn the_exit_code_is_the_commands_own_or_kennels() {
        let code = |verdict: SessionOutcome| {
            verdict.exit_code().unwrap_or_else(crate::command_error::report)
        };
        for (verdict, expected) in [
            (SessionOutcome::Ended(7), 7),
            (SessionOutcome::Ended(143), 143),
            (SessionOutcome::NeverRan, 206),
            (SessionOutcome::NeverRan.stopped_by(2), 130),
            (SessionOutcome::Ended(0).stopped_by(2), 0),
            (SessionOutcome::Unknown("x".into()), 206),
            (SessionOutcome::StillAlive(vec!["pid 1 (x): y".into()]), 205),
            (SessionOutcome::Failed { code: 204, why: "no program".into() }, 204),
        ] {
            assert_eq!(code(verdict.clone()), expected, "{verdict:?}");
        }
    }

    #[test]
    fn omits_the_searched_path() {
        assert_eq!(
            without_path("can't start the program: no program \"codex\" in PATH (/bin:/usr/bin)"),
            "no program \"codex\" in PATH"
        );
        assert_eq!(without_path("no folder /x (gone)"), "no folder /x (gone)");
    }

    #[test]
    fn takes_the_keepers_report_without_a_daemon() {
        let failed = Cause::Failed { code: 203, why: "no pen".into() };
        assert_eq!(
            SessionOutcome::of_outcome(&outcome(None, failed)),
            SessionOutcome::Failed { code: 203, why: "no pen".into() }
        );
        assert_eq!(
            SessionOutcome::of_outcome(&outcome(None, Cause::Dismissed)),
            SessionOutcome::NeverRan
        );
        let signal = Status::Signal { signal: 9, core: false, oom: false };
        assert_eq!(
            SessionOutcome::of_outcome(&outcome(Some(signal), Cause::Ended)),
            SessionOutcome::Ended(137)
        );
        let unknown = Status::Unknown("why".into());
        assert_eq!(
            SessionOutcome::of_outcome(&outcome(Some(unknown), Cause::Ended)),
            SessionOutcome::Unknown("why".into())
        );
    }
}

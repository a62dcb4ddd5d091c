//! What a session came to, as an exit code and as words.

use kennel_keeper::protocol::{Cause, Outcome};
use kennel_pen::Status;
use kennel_types::{
    Activity, Exit, OwedKind, Phase, ReadyState, Reason, RelaunchState, SessionView, StartedBy,
    Survivor,
};

use crate::command_error::CommandError;
use crate::exit_code;
use crate::print::sanitize;
use crate::stopper::BY_RUN;

/// What it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionOutcome {
    /// The agent's own status, as a shell would show it.
    Ended(i32),
    /// The program was never run.
    NeverRan,
    /// It could not be started; with the code for it.
    Failed { code: u8, why: String },
    /// These could not be ended; Kennel goes on trying.
    StillAlive(Vec<String>),
    /// Nobody can tell.
    Unknown(String),
    /// It was stopped by this signal to us before it ran.
    StoppedBefore(i32),
}

impl SessionOutcome {
    /// From the daemon's view.
    pub(crate) fn of(session: &SessionView) -> Self {
        if !session.survivors.is_empty() && session.phase < Phase::Reaped {
            return Self::StillAlive(session.survivors.iter().map(survivor).collect());
        }
        match (&session.exit, &session.reason) {
            (Some(Exit::Code { code }), _) => Self::Ended(*code),
            (Some(Exit::Signal { signal, .. }), _) => Self::Ended(128 + signal),
            (_, Some(Reason::Failed { code, why })) => {
                Self::Failed { code: *code, why: why.clone() }
            }
            (Some(Exit::NeverRan), _) => Self::NeverRan,
            (Some(Exit::Unknown { why }), _) => Self::Unknown(why.clone()),
            (None, _) => Self::Unknown(format!("the session is {}", phase(session.phase))),
        }
    }

    /// From the keeper's own word, for want of a daemon's.
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

    /// A stop of ours explains why it never ran.
    pub(crate) fn stopped_by(self, signal: i32) -> Self {
        match self {
            Self::NeverRan => Self::StoppedBefore(signal),
            other => other,
        }
    }

    /// As an exit code; what is no agent's code comes with words.
    pub(crate) fn exit_code(self) -> Result<u8, CommandError> {
        match self {
            Self::Ended(code) => Ok(u8::try_from(code & 0xff).unwrap_or(exit_code::UNKNOWN)),
            Self::StoppedBefore(signal) => Ok(by_signal(signal)),
            Self::Failed { code, why } => Err(failed(code, &why)),
            Self::NeverRan => {
                Err(CommandError::because(exit_code::UNKNOWN, "the program was never run"))
            }
            Self::StillAlive(survivors) => {
                let list = survivors.iter().map(|s| format!("\n  {s}")).collect::<String>();
                Err(CommandError::because(
                    exit_code::STILL_ALIVE,
                    format!("still alive, in spite of KILL:{list}"),
                )
                .hint("they are still owned: the keeper goes on trying until they are gone"))
            }
            Self::Unknown(why) => Err(CommandError::because(
                exit_code::UNKNOWN,
                format!("the agent's status is unknown: {why}"),
            )),
        }
    }
}

/// The code of a program that a signal ended.
pub(crate) fn by_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Why a launch failed, if it did.
pub(crate) fn launch_failure(session: &SessionView) -> Option<CommandError> {
    match &session.reason {
        Some(Reason::Failed { code, why }) => Some(failed(*code, why)),
        _ => None,
    }
}

fn failed(code: u8, why: &str) -> CommandError {
    let failure = CommandError::because(code, without_path(why));
    match code {
        exit_code::PEN => failure.hint("`kennel doctor` says what is possible here"),
        _ => failure,
    }
}

/// Where a program was looked for is a long list; `inspect` shows it.
fn without_path(why: &str) -> &str {
    const PLACE: &str = "\" in PATH";
    let begin = why.find("no program \"");
    let end = why.find(&format!("{PLACE} ("));
    match (begin, end) {
        (Some(begin), Some(end)) if begin < end => &why[begin..end + PLACE.len()],
        _ => why,
    }
}

fn survivor(survivor: &Survivor) -> String {
    format!("pid {} ({}): {}", survivor.pid, survivor.name, survivor.why)
}

/// A phase, for people. `--json` says `cleaned` for one that has ended.
pub(crate) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Queued => "queued",
        Phase::Making => "making",
        Phase::Reserved => "reserved",
        Phase::Launching => "launching",
        Phase::Starting => "starting",
        Phase::Running => "running",
        Phase::Stopping => "stopping",
        Phase::Lost => "lost",
        Phase::Reaped => "reaped",
        Phase::Cleaned => "ended",
    }
}

/// How a session is, for people: its phase, and what is beyond it (a place in line, a launch that follows, whether
/// it is ready if somebody asked).
pub(crate) fn standing(session: &SessionView) -> String {
    if let Some(place) = session.queue_place {
        return format!("{} ({place})", phase(session.phase));
    }
    let standing = match (session.phase, session.ready) {
        (Phase::Running, _) if session.started_by == StartedBy::User => match session.exit {
            None => "running (terminal)",
            Some(_) => "ended (not reaped)",
        },
        _ if session.relaunch == RelaunchState::Pending => "restarting",
        (Phase::Running, ReadyState::Waiting) => "starting",
        (Phase::Running, ReadyState::Ready) => "running (ready)",
        (other, _) => phase(other),
    };
    standing.to_owned()
}

/// What an agent told of itself last, for people.
pub(crate) fn told(session: &SessionView) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(session.activity.map(|activity| match activity {
        Activity::Busy => "busy".to_owned(),
        Activity::Idle => "idle".to_owned(),
    }));
    parts.extend(session.progress.map(|percent| format!("{} %", u8::from(percent))));
    parts.extend(session.title.as_ref().map(|title| title.as_ref().to_owned()));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Why a session ended, for people.
pub(crate) fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Exited => "it ended by itself".to_owned(),
        Reason::Stopped { by } => format!("stopped by {by}"),
        Reason::ClientGone => "the client that it was tied to went away".to_owned(),
        Reason::ParentEnded => "the session that started it has ended".to_owned(),
        Reason::Shutdown => "the daemon was told to end everything".to_owned(),
        Reason::Failed { code, why } => format!("it could not be started ({code}): {why}"),
        Reason::LeaseOver => "no daemon came back within its lease".to_owned(),
        Reason::NotReady { after, saw: None } => format!("it was not ready within {after:?}"),
        Reason::NotReady { after, saw: Some(saw) } => {
            format!("it was not ready within {after:?}: {saw}")
        }
        Reason::TimedOut { limit } => format!("it took longer than {limit:?}"),
        Reason::Idle { limit } => format!("it did nothing for {limit:?}"),
        Reason::Silent { limit } => format!("it printed nothing for {limit:?}"),
        Reason::KeeperDied => "its keeper was lost; the tree was ended without it".to_owned(),
        Reason::Rebooted => "the machine was restarted meanwhile".to_owned(),
        Reason::Forgotten { by } => format!("given up by {by}: nobody saw it end"),
    }
}

/// What people in the foreground would not expect.
pub(crate) fn surprises(session: &SessionView) -> Vec<String> {
    let mut surprises = Vec::new();
    match &session.reason {
        None | Some(Reason::Exited | Reason::Failed { .. }) => {}
        Some(Reason::Stopped { by }) if by.starts_with(BY_RUN) => {}
        Some(other) => surprises.push(reason(other)),
    }
    if session.unrecorded {
        surprises.push("the outcome could not be put on record".to_owned());
    }
    for kept in &session.kept {
        if let OwedKind::Worktree { path, .. } = &kept.what {
            surprises.push(format!(
                "the worktree {} is kept: {}",
                sanitize(path),
                sanitize(&kept.why)
            ));
        }
    }
    for owed in session.owed.iter().filter(|owed| owed.failures > 0) {
        if let (OwedKind::Worktree { path, .. }, Some(why)) = (&owed.what, &owed.why) {
            let (path, why) = (sanitize(path), sanitize(why));
            surprises.push(format!("the worktree {path} can't be removed yet: {why}"));
        }
    }
    surprises
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn outcome(status: Option<Status>, cause: Cause) -> Outcome {
        Outcome { status, cause, ended_ms: 0, cpu: Duration::ZERO, folder_left: false }
    }

    #[test]
    fn a_code_is_the_agents_own_or_one_of_kennels() {
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
    fn the_path_that_was_searched_is_left_out() {
        assert_eq!(
            without_path("can't start the program: no program \"codex\" in PATH (/bin:/usr/bin)"),
            "no program \"codex\" in PATH"
        );
        assert_eq!(without_path("no folder /x (gone)"), "no folder /x (gone)");
    }

    #[test]
    fn a_keepers_word_is_enough_if_there_is_no_other() {
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

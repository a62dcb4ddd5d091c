//! Judging a prompt: its whole output is read again and compared with how it ended.

use std::io;
use std::path::Path;

use kennel_agents::{Agent, AttemptEnd, EndedBy, FinishedAttempt, OutputReader, ProcessEnd};
use kennel_core::Session;
use kennel_keeper::journal;
use kennel_types::{EvidenceSource, Exit, Judged, Reason, TokenUsage, Verdict, VerdictKind, Work};

use crate::os::home::JOURNAL;
use crate::prompt::transcript::read_available;

/// Returns the verdict; unknown if the output can't be read. Blocks on the disk.
pub(crate) fn judge(session: &Session, folder: &Path) -> Judged {
    let read = || -> Result<Judged, String> {
        let spec = session.spec.agent.as_deref().ok_or("it is not a prompt")?;
        let agent = Agent::of(&spec.seat).map_err(|error| error.to_string())?;
        let mut reader = agent.reader();
        read(&mut reader, &folder.join(JOURNAL)).map_err(|error| error.to_string())?;
        let FinishedAttempt { judged, .. } = reader.finish(&ended(session), &mut |_| {});
        Ok(judged)
    };
    read().unwrap_or_else(|why| {
        tracing::warn!(session = %session.id, why, "can't judge a prompt");
        unjudged(&format!("can't read its output: {why}"))
    })
}

/// Returns an unknown verdict.
pub(crate) fn unjudged(why: &str) -> Judged {
    Judged {
        verdict: Verdict::new(VerdictKind::Unknown, EvidenceSource::Kennel, why),
        conversation: None,
        usage: TokenUsage::default(),
        work: Work::Unknown,
        turns: None,
        tools: 0,
    }
}

/// Whether a running prompt has written its result: then it is killed rather than asked to end. False if that can't be
/// read. Blocks on the disk.
pub(crate) fn has_result(session: &Session, folder: &Path) -> bool {
    let Some(agent) = session.spec.agent.as_deref().and_then(|spec| Agent::of(&spec.seat).ok())
    else {
        return false;
    };
    let mut reader = agent.reader();
    match read(&mut reader, &folder.join(JOURNAL)) {
        Ok(()) => reader.has_result(),
        Err(error) => {
            tracing::warn!(session = %session.id, %error, "can't read the output of a prompt");
            false
        }
    }
}

/// Whether that matters for the way this agent is stopped.
pub(crate) fn is_killed_after_result(session: &Session) -> bool {
    let spec = session.spec.agent.as_deref().filter(|_| session.spec.is_prompt());
    let agent = spec.and_then(|spec| Agent::of(&spec.seat).ok());
    agent.is_some_and(|agent| agent.stop_policy().kill_after_result)
}

/// Returns the answer of a prompt that has succeeded. Blocks on the disk.
pub(crate) fn answer(session: &Session, folder: &Path) -> Option<String> {
    let spec = session.spec.agent.as_deref()?;
    let mut reader = Agent::of(&spec.seat).ok()?.reader();
    if let Err(error) = read(&mut reader, &folder.join(JOURNAL)) {
        tracing::warn!(session = %session.id, %error, "can't read an answer");
        return None;
    }
    reader.finish(&ended(session), &mut |_| {}).answer
}

fn read(reader: &mut OutputReader, journal: &Path) -> io::Result<()> {
    read_available(&mut journal::JournalReader::open(journal)?, reader, &mut |_| {})
}

/// Returns how it ended, as far as the verdict depends on it.
pub(crate) fn ended(session: &Session) -> AttemptEnd {
    let end = match (&session.exit, &session.reason) {
        (Some(Exit::Code { code }), _) => ProcessEnd::Exited(*code),
        (Some(Exit::Signal { signal, .. }), _) => ProcessEnd::Signaled(*signal),
        (_, Some(Reason::Failed { why, .. })) => ProcessEnd::NotStarted(why.clone()),
        _ if !session.launch.granted => {
            ProcessEnd::NotStarted("it was called off before it began".to_owned())
        }
        _ => ProcessEnd::Unknown,
    };
    let ended_by = match &session.reason {
        None | Some(Reason::Exited | Reason::KeeperDied | Reason::Failed { .. }) => EndedBy::Itself,
        Some(Reason::Stopped { .. } | Reason::ClientGone) => EndedBy::Stopped,
        Some(Reason::TimedOut { .. } | Reason::Idle { .. } | Reason::Silent { .. }) => {
            EndedBy::TimedOut
        }
        Some(other) => EndedBy::Kennel { why: other.to_string() },
    };
    AttemptEnd { end, ended_by }
}

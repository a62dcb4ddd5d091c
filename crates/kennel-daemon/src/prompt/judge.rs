//! Judging a prompt: its whole output is read again and compared with how it ended.

use std::io;
use std::path::Path;

use kennel_agents::{Agent, AttemptEnd, EndedBy, OutputReader, ProcessEnd};
use kennel_core::Session;
use kennel_keeper::journal;
use kennel_types::{EvidenceSource, Exit, Judged, Reason, TokenUsage, Verdict, VerdictKind, Work};

use crate::os::home::JOURNAL;
use crate::prompt::transcript::read_available;

/// Returns the verdict; unknown if the output can't be read. Blocks on the disk.
pub(crate) fn judge(session: &Session, folder: &Path) -> Judged {
    match read(session, folder) {
        Ok(reader) => reader.finish(&ended(session), &mut |_| {}).judged,
        Err(error) => unjudged(&format!("can't read its output: {error}")),
    }
}

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

/// Whether a running prompt has written its result: then it is killed rather than asked to end.
/// False if that can't be read. Blocks on the disk.
pub(crate) fn has_result(session: &Session, folder: &Path) -> bool {
    read(session, folder).is_ok_and(|reader| reader.has_result())
}

/// Whether this agent is killed if it has written its result.
pub(crate) fn is_killed_after_result(session: &Session) -> bool {
    let spec = session.spec.agent.as_deref().filter(|_| session.spec.is_prompt());
    let agent = spec.and_then(|spec| Agent::of(&spec.settings).ok());
    agent.is_some_and(|agent| agent.stop_policy().kill_after_result)
}

/// Returns the answer of a prompt that has succeeded. Blocks on the disk.
pub(crate) fn answer(session: &Session, folder: &Path) -> Option<String> {
    read(session, folder).ok()?.finish(&ended(session), &mut |_| {}).answer
}

/// Reads the output of a prompt. A failure is logged.
fn read(session: &Session, folder: &Path) -> io::Result<OutputReader> {
    let read = || {
        let spec = session.spec.agent.as_deref();
        let spec = spec.ok_or_else(|| io::Error::other("it is not a prompt"))?;
        let mut reader = Agent::of(&spec.settings).map_err(io::Error::other)?.reader();
        let mut journal = journal::JournalReader::open(&folder.join(JOURNAL))?;
        read_available(&mut journal, &mut reader, &mut |_| {})?;
        Ok(reader)
    };
    read().inspect_err(|error: &io::Error| {
        tracing::warn!(session = %session.id, %error, "can't read the output of a prompt");
    })
}

/// Returns how it ended, as far as the verdict depends on it.
pub(crate) fn ended(session: &Session) -> AttemptEnd {
    let end = match (&session.exit, &session.reason) {
        (Some(Exit::Code { code }), _) => ProcessEnd::Exited(*code),
        (Some(Exit::Signal { signal, .. }), _) => ProcessEnd::Signaled(*signal),
        (_, Some(Reason::Failed { why, .. })) => ProcessEnd::NotStarted(why.clone()),
        _ if !session.launch.granted => {
            ProcessEnd::NotStarted("it was cancelled before it started".to_owned())
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

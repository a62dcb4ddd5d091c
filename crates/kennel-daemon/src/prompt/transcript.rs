//! From the journal of a prompt to the events of its agent.

use std::io;
use std::path::Path;

use kennel_agents::{
    Agent, AgentEvent, AttemptEnd, EndedBy, OutputReader, OutputStream, ProcessEnd,
};
use kennel_keeper::journal::{self, JournalItem, STDERR};
use kennel_types::{Exit, SessionView};

use crate::os::home::JOURNAL;

/// Hands one item of a journal to who reads the agent's words.
pub fn hand_on(
    item: &JournalItem<'_>,
    words: &mut OutputReader,
    tell: &mut dyn FnMut(AgentEvent<'_>),
) {
    match *item {
        JournalItem::Data { stream, data, .. } => {
            let stream = if stream == STDERR { OutputStream::Stderr } else { OutputStream::Stdout };
            words.read(stream, data, tell);
        }
        JournalItem::Gap { lost, .. } => words.lost(lost.unwrap_or(0)),
        JournalItem::End => {}
    }
}

/// Passes on everything that is there.
///
/// # Errors
/// The journal can't be read.
pub fn read_on(
    journal: &mut journal::JournalReader,
    words: &mut OutputReader,
    tell: &mut dyn FnMut(AgentEvent<'_>),
) -> io::Result<()> {
    loop {
        match journal.next()? {
            JournalItem::End => return Ok(()),
            item => hand_on(&item, words, tell),
        }
    }
}

/// Opens the journal of a prompt, and the reader of its agent's output.
///
/// # Errors
/// The journal can't be read, or its agent is none that we know.
pub fn open(session: &SessionView) -> io::Result<(journal::JournalReader, OutputReader)> {
    let spec = session.spec.agent.as_deref();
    let seat = spec.map(|spec| spec.seat.clone()).unwrap_or_default();
    let agent = Agent::of(&seat).map_err(io::Error::other)?;
    let journal = journal::JournalReader::open(&Path::new(&session.folder).join(JOURNAL))?;
    Ok((journal, agent.reader()))
}

/// Returns the answer of a prompt that is over, from its agent's output.
///
/// # Errors
/// See [`open`].
pub fn answer_of(session: &SessionView) -> io::Result<Option<String>> {
    let (mut journal, mut words) = open(session)?;
    read_on(&mut journal, &mut words, &mut |_| {})?;
    Ok(words.finish(&ended(session), &mut |_| {}).answer)
}

/// Returns how it ended, as far as the reader needs it.
#[must_use]
pub fn ended(session: &SessionView) -> AttemptEnd {
    let end = match &session.exit {
        Some(Exit::Code { code }) => ProcessEnd::Exited(*code),
        Some(Exit::Signal { signal, .. }) => ProcessEnd::Signaled(*signal),
        _ => ProcessEnd::Unknown,
    };
    AttemptEnd { end, ended_by: EndedBy::Itself }
}

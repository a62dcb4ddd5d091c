//! From the journal of a prompt to the events of its agent.

use std::io;
use std::path::Path;

use kennel_agents::{
    Agent, AgentEvent, AttemptEnd, EndedBy, OutputReader, OutputStream, ProcessEnd,
};
use kennel_keeper::journal::{self, JournalItem, STDERR};
use kennel_types::{Exit, SessionView};

use crate::os::home::JOURNAL;

/// Passes one item of a journal to the reader of the agent's output.
pub fn read_item(
    item: &JournalItem<&[u8]>,
    reader: &mut OutputReader,
    handle: &mut dyn FnMut(AgentEvent<'_>),
) {
    match *item {
        JournalItem::Data { stream, data, .. } => {
            let stream = if stream == STDERR { OutputStream::Stderr } else { OutputStream::Stdout };
            reader.read(stream, data, handle);
        }
        JournalItem::Gap { lost, .. } => reader.lost(lost.unwrap_or(0)),
        JournalItem::End => {}
    }
}

/// Passes on everything that the journal contains so far.
pub fn read_available(
    journal: &mut journal::JournalReader,
    reader: &mut OutputReader,
    handle: &mut dyn FnMut(AgentEvent<'_>),
) -> io::Result<()> {
    loop {
        match journal.next()? {
            JournalItem::End => return Ok(()),
            item => read_item(&item, reader, handle),
        }
    }
}

/// Opens the journal of a prompt, and the reader of its agent's output.
pub fn open(session: &SessionView) -> io::Result<(journal::JournalReader, OutputReader)> {
    let spec = session.spec.agent.as_deref();
    let settings = spec.map(|spec| spec.settings.clone()).unwrap_or_default();
    let agent = Agent::of(&settings).map_err(io::Error::other)?;
    let journal = journal::JournalReader::open(&Path::new(&session.folder).join(JOURNAL))?;
    Ok((journal, agent.reader()))
}

/// Returns the answer of a prompt that is over, from its agent's output.
pub fn answer_of(session: &SessionView) -> io::Result<Option<String>> {
    let (mut journal, mut reader) = open(session)?;
    read_available(&mut journal, &mut reader, &mut |_| {})?;
    Ok(reader.finish(&ended(session), &mut |_| {}).answer)
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

//! Reads the output of one attempt and encodes the actions of its agent as events. Blocks on the disk.

use std::io;

use kennel_agents::{AgentEvent, OutputReader as TranscriptReader};
use kennel_daemon::transcript;
use kennel_keeper::journal::{JournalItem, JournalReader};
use kennel_types::SessionView;

use crate::stream::ReadState;
use crate::stream::resume_position::{AnswerPoint, ResumePosition};
use crate::stream::sse;

/// The approximate number of bytes to encode at once.
const CHUNK: usize = 64 * 1024;

pub(super) struct AttemptEvents {
    journal: JournalReader,
    transcript: Option<TranscriptReader>,
    encoder: EventEncoder,
}

struct EventEncoder {
    launch: String,
    /// The last event that the client has received.
    received: Option<AnswerPoint>,
    offset: u64,
    number: u32,
    events: Vec<u8>,
}

impl AttemptEvents {
    /// Opens the output. Reads always start at the beginning, because the meaning of a line depends on the lines before
    /// it. Events that the client has already received are left out.
    pub(super) fn open(view: &SessionView, received: Option<AnswerPoint>) -> io::Result<Self> {
        let (journal, transcript) = transcript::open(view)?;
        let launch = view.id.clone();
        let encoder = EventEncoder { launch, received, offset: 0, number: 0, events: Vec::new() };
        Ok(Self { journal, transcript: Some(transcript), encoder })
    }

    pub(super) fn read(&mut self) -> io::Result<ReadState> {
        let Self { journal, transcript: Some(transcript), encoder } = self else {
            return Ok(ReadState::CaughtUp);
        };
        while encoder.events.len() < CHUNK {
            let item = journal.next()?;
            match item {
                JournalItem::Data { offset, data, .. } => {
                    encoder.advance(offset + data.len() as u64)
                }
                JournalItem::Gap { offset, lost, .. } => {
                    encoder.advance(offset + lost.unwrap_or(0))
                }
                JournalItem::End => return Ok(ReadState::CaughtUp),
            }
            transcript::read_item(&item, transcript, &mut |event| encoder.encode(&event));
        }
        Ok(ReadState::More)
    }

    /// Encodes the events of the last line, even if it has no line end: no output follows.
    pub(super) fn finish(&mut self, view: &SessionView) {
        let Some(transcript) = self.transcript.take() else { return };
        let encode = &mut |event: AgentEvent<'_>| self.encoder.encode(&event);
        // The verdict is already on record, and also considers why the session ended.
        drop(transcript.finish(&transcript::ended(view), encode));
    }

    /// Returns the events that were encoded since the last call.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.encoder.events)
    }
}

impl EventEncoder {
    fn advance(&mut self, offset: u64) {
        if offset != self.offset {
            (self.offset, self.number) = (offset, 0);
        }
    }

    fn encode(&mut self, event: &AgentEvent<'_>) {
        let point = AnswerPoint::Event { offset: self.offset, number: self.number };
        self.number += 1;
        if self.received.is_some_and(|received| point <= received) {
            return;
        }
        let id = ResumePosition { launch: Some(self.launch.clone()), point }.to_string();
        match serde_json::to_string(event) {
            Ok(data) => sse::write(&mut self.events, &id, event.kind(), &data),
            Err(error) => tracing::error!(%error, "can't encode an event of an agent as JSON"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(received: Option<AnswerPoint>) -> String {
        let (launch, events) = ("x".to_owned(), Vec::new());
        let mut encoder = EventEncoder { launch, received, offset: 0, number: 0, events };
        for (offset, texts) in [(4, vec!["a", "b"]), (4, vec!["c"]), (9, vec!["d"])] {
            encoder.advance(offset);
            for text in texts {
                encoder.encode(&AgentEvent::Text { text });
            }
        }
        let text = String::from_utf8(encoder.events).unwrap();
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn leaves_out_received_events_and_numbers_the_rest_the_same() {
        assert_eq!(ids(None), "x:4:0 x:4:1 x:4:2 x:9:0");
        assert_eq!(ids(Some(AnswerPoint::Begun)), "x:4:0 x:4:1 x:4:2 x:9:0");
        let received = AnswerPoint::Event { offset: 4, number: 1 };
        assert_eq!(ids(Some(received)), "x:4:2 x:9:0");
        assert_eq!(ids(Some(AnswerPoint::Event { offset: 9, number: 0 })), "");
    }
}

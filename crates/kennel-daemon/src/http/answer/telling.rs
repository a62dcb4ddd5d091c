//! One attempt: its output read, and what its agent does told as events. Blocks on the disk.

use std::io;

use kennel_agents::{Doing, Happening, Reader as Words};
use kennel_keeper::journal::{JournalItem, JournalReader};
use kennel_types::SessionView;

use super::super::sse;
use super::mark::{Mark, Place};
use crate::prompt::transcript;

/// About how much is made at once.
const PIECE: usize = 64 * 1024;

/// See the module.
pub(super) struct Telling {
    journal: JournalReader,
    words: Option<Words>,
    told: Made,
}

/// What was made of it.
struct Made {
    launch: String,
    /// The client has all up to this.
    heard: Option<Place>,
    offset: u64,
    number: u32,
    events: Vec<u8>,
}

/// Whether there is more to read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Left {
    More,
    NothingNow,
}

impl Telling {
    /// From the beginning: only so is it known what an agent means. What the client has heard is left out.
    pub(super) fn open(view: &SessionView, heard: Option<Place>) -> io::Result<Self> {
        let (journal, words) = transcript::open(view)?;
        let launch = view.id.clone();
        let told = Made { launch, heard, offset: 0, number: 0, events: Vec::new() };
        Ok(Self { journal, words: Some(words), told })
    }

    /// Reads some.
    pub(super) fn read(&mut self) -> io::Result<Left> {
        let Self { journal, words: Some(words), told } = self else { return Ok(Left::NothingNow) };
        while told.events.len() < PIECE {
            let item = journal.next()?;
            match item {
                JournalItem::Data { offset, data, .. } => told.come_to(offset + data.len() as u64),
                JournalItem::Gap { offset, lost, .. } => told.come_to(offset + lost.unwrap_or(0)),
                JournalItem::End => return Ok(Left::NothingNow),
            }
            transcript::hand_on(&item, words, &mut |happening| told.tell(&happening));
        }
        Ok(Left::More)
    }

    /// There is no more: what the last line says, though it has no end.
    pub(super) fn finish(&mut self, view: &SessionView) {
        let Some(words) = self.words.take() else { return };
        // The verdict is on record, made by who knows why it ended.
        drop(words.finish(&transcript::ended(view), &mut |happening| self.told.tell(&happening)));
    }

    /// What was made of it and is not taken yet.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.told.events)
    }
}

impl Made {
    fn come_to(&mut self, offset: u64) {
        if offset != self.offset {
            (self.offset, self.number) = (offset, 0);
        }
    }

    fn tell(&mut self, happening: &Happening<'_>) {
        let place = Place::Event { offset: self.offset, number: self.number };
        self.number += 1;
        if self.heard.is_some_and(|heard| place <= heard) {
            return;
        }
        let doing = Doing::from(happening);
        let id = Mark { launch: self.launch.clone(), place }.to_string();
        match serde_json::to_string(&doing) {
            Ok(data) => sse::write(&mut self.events, &id, doing.kind(), &data),
            Err(error) => tracing::error!(%error, "what an agent does can't be written as JSON"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(heard: Option<Place>) -> String {
        let (launch, events) = ("x".to_owned(), Vec::new());
        let mut made = Made { launch, heard, offset: 0, number: 0, events };
        for (offset, texts) in [(4, vec!["a", "b"]), (4, vec!["c"]), (9, vec!["d"])] {
            made.come_to(offset);
            for text in texts {
                made.tell(&Happening::Text(text));
            }
        }
        let text = String::from_utf8(made.events).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("id: "));
        data.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_was_heard_is_left_out_and_the_rest_has_the_same_ids() {
        assert_eq!(made(None), "x:4:0 x:4:1 x:4:2 x:9:0");
        assert_eq!(made(Some(Place::Begun)), "x:4:0 x:4:1 x:4:2 x:9:0");
        let heard = Place::Event { offset: 4, number: 1 };
        assert_eq!(made(Some(heard)), "x:4:2 x:9:0");
        assert_eq!(made(Some(Place::Event { offset: 9, number: 0 })), "");
    }
}

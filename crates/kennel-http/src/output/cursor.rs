//! The position of one client in a journal. Blocks on the disk.

use std::io;
use std::path::Path;

use kennel_keeper::journal::{JournalItem, JournalReader};

use super::encoder::{OutputChunk, OutputEncoder};
use super::query::{OutputQuery, OutputStreams};
use crate::stream::ReadState;
use crate::stream::resume_position::OutputPoint;

/// The approximate number of bytes to encode at once.
const CHUNK: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct OutputCursor {
    reader: JournalReader,
    pub(super) encoder: OutputEncoder,
    streams: OutputStreams,
    to: Option<u64>,
    /// The offset of a gap that the client already knows.
    known_gap: Option<u64>,
}

impl OutputCursor {
    /// Seeks to the position at which the client resumes, or else to the one that it requests.
    pub(super) fn open(
        journal: &Path,
        query: &OutputQuery,
        resume: Option<OutputPoint>,
        encoder: OutputEncoder,
    ) -> io::Result<Self> {
        let mut reader = JournalReader::open(journal)?;
        let mut known_gap = None;
        match resume {
            Some(OutputPoint::Offset(offset)) => reader.seek(offset)?,
            Some(OutputPoint::AfterGap(offset)) => {
                known_gap = Some(offset);
                reader.seek(offset)?;
            }
            Some(OutputPoint::End) => reader.seek_tail(0)?,
            None => seek_start(&mut reader, query)?,
        }
        Ok(Self { reader, encoder, streams: query.stream, to: query.to, known_gap })
    }

    /// Returns the offset of the first byte that can be sent.
    pub(super) fn from(&self) -> io::Result<u64> {
        Ok(self.reader.position().max(self.reader.start()?))
    }

    pub(super) fn read(&mut self) -> io::Result<ReadState> {
        let Self { reader, encoder, streams, to, known_gap } = self;
        while encoder.len() < CHUNK {
            if to.is_some_and(|to| reader.position() >= to) {
                encoder.flush_partial();
                return Ok(ReadState::Finished);
            }
            match reader.next()? {
                JournalItem::Data { offset, time_ms, stream, data } => {
                    *known_gap = None;
                    let wanted = to.map_or(u64::MAX, |to| to.saturating_sub(offset));
                    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(data.len());
                    if streams.include(stream) && wanted > 0 {
                        let data = &data[..wanted];
                        encoder.output(&OutputChunk { offset, time_ms, stream, data });
                    }
                }
                JournalItem::Gap { offset, .. } if *known_gap == Some(offset) => {}
                JournalItem::Gap { offset, lost, why } => {
                    encoder.gap(offset, lost, why, reader.position());
                }
                JournalItem::End => {
                    encoder.flush_partial();
                    return Ok(ReadState::CaughtUp);
                }
            }
        }
        Ok(ReadState::More)
    }
}

/// Seeks to `from` or to the tail, whichever is later.
fn seek_start(reader: &mut JournalReader, query: &OutputQuery) -> io::Result<()> {
    if let Some(lines) = query.tail {
        match query.stream {
            OutputStreams::Both => reader.seek_tail(lines)?,
            some => reader.seek_tail_of(lines, |stream| some.include(stream))?,
        }
    }
    match query.from {
        Some(from) if from > reader.position() || query.tail.is_none() => reader.seek(from),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use kennel_keeper::journal::{JournalWriter, STDERR, STDOUT};

    use super::super::query::OutputEncoding;
    use super::*;

    fn journal() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = JournalWriter::create(folder.path(), 1 << 20).unwrap();
        let pieces: [(u8, &[u8]); 3] =
            [(STDOUT, b"one\ntwo\n"), (STDERR, b"bad\n"), (STDOUT, b"three\n")];
        for (stream, data) in pieces {
            let _kept = writer.append(stream, 1000, data);
        }
        folder
    }

    fn read(
        folder: &Path,
        query: &OutputQuery,
        resume: Option<OutputPoint>,
    ) -> (String, ReadState) {
        let encoder = OutputEncoder::new("x".into(), OutputEncoding::Raw);
        let mut cursor = OutputCursor::open(folder, query, resume, encoder).unwrap();
        let left = cursor.read().unwrap();
        (String::from_utf8(cursor.encoder.take()).unwrap(), left)
    }

    #[test]
    fn cuts_a_range_to_the_byte() {
        let folder = journal();
        let query = |from, to| OutputQuery { from, to, ..OutputQuery::default() };
        for (from, to, expected, left) in [
            (None, None, "one\ntwo\nbad\nthree\n", ReadState::CaughtUp),
            (Some(2), Some(6), "e\ntw", ReadState::Finished),
            (Some(9), Some(13), "ad\nt", ReadState::Finished),
            (Some(4), Some(4), "", ReadState::Finished),
            (None, Some(0), "", ReadState::Finished),
            (Some(17), Some(99), "\n", ReadState::CaughtUp),
            (Some(50), None, "", ReadState::CaughtUp),
        ] {
            let (text, seen) = read(folder.path(), &query(from, to), None);
            assert_eq!((text.as_str(), seen), (expected, left), "{from:?} to {to:?}");
        }
    }

    #[test]
    fn sends_only_the_requested_stream() {
        let folder = journal();
        for (stream, tail, from, expected) in [
            (OutputStreams::Stderr, None, None, "bad\n"),
            (OutputStreams::Stdout, Some(2), None, "two\nthree\n"),
            (OutputStreams::Both, Some(2), None, "bad\nthree\n"),
            (OutputStreams::Both, Some(3), Some(9), "ad\nthree\n"),
            (OutputStreams::Both, Some(1), Some(0), "three\n"),
            (OutputStreams::Both, Some(0), None, ""),
        ] {
            let query = OutputQuery { stream, tail, from, ..OutputQuery::default() };
            assert_eq!(read(folder.path(), &query, None).0, expected, "{query:?}");
        }
    }

    #[test]
    fn a_resume_position_overrides_the_query() {
        let folder = journal();
        let query = OutputQuery { tail: Some(1), ..OutputQuery::default() };
        let (text, _) = read(folder.path(), &query, Some(OutputPoint::Offset(4)));
        assert_eq!(text, "two\nbad\nthree\n");
    }

    #[test]
    fn has_caught_up_with_an_empty_journal() {
        let folder = tempfile::tempdir().unwrap();
        let nothing = folder.path().join("none");
        assert_eq!(
            read(&nothing, &OutputQuery::default(), None),
            (String::new(), ReadState::CaughtUp)
        );
    }
}

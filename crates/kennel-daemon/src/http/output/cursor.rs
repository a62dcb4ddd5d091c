//! A place in a journal from which is read, for one client. Blocks on the disk.

use std::io;
use std::path::Path;

use kennel_keeper::journal::{JournalItem, JournalReader};

use super::mark::Place;
use super::record::{Piece, Teller};
use super::wish::{Streams, Wish};

/// About how much is read at once.
const PIECE: usize = 64 * 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Cursor {
    reader: JournalReader,
    pub(super) teller: Teller,
    streams: Streams,
    to: Option<u64>,
    /// What is missing here was told already.
    gap_told: Option<u64>,
}

/// Whether there may be more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Left {
    /// There is more.
    More,
    /// Not now.
    NothingNow,
    /// That was all that was asked for.
    Nothing,
}

impl Cursor {
    /// Goes to the place where what is wanted begins; a place that a client gives back goes before what it asks for.
    pub(super) fn open(
        journal: &Path,
        wish: &Wish,
        resume: Option<Place>,
        teller: Teller,
    ) -> io::Result<Self> {
        let mut reader = JournalReader::open(journal)?;
        let mut gap_told = None;
        match resume {
            Some(Place::Offset(offset)) => reader.seek(offset)?,
            Some(Place::AfterGap(offset)) => {
                gap_told = Some(offset);
                reader.seek(offset)?;
            }
            // Nobody asks for what comes after the end.
            Some(Place::End) => reader.seek_tail(0)?,
            None => find_beginning(&mut reader, wish)?,
        }
        Ok(Self { reader, teller, streams: wish.stream, to: wish.to, gap_told })
    }

    /// The offset of the first byte that can come.
    pub(super) fn from(&self) -> io::Result<u64> {
        Ok(self.reader.position().max(self.reader.start()?))
    }

    /// Reads some; what was read is with the teller.
    pub(super) fn read(&mut self) -> io::Result<Left> {
        let Self { reader, teller, streams, to, gap_told } = self;
        while teller.len() < PIECE {
            if to.is_some_and(|to| reader.position() >= to) {
                teller.nothing_follows();
                return Ok(Left::Nothing);
            }
            match reader.next()? {
                JournalItem::Data { offset, time_ms, stream, data } => {
                    *gap_told = None;
                    let wanted = to.map_or(u64::MAX, |to| to.saturating_sub(offset));
                    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(data.len());
                    if streams.has(stream) && wanted > 0 {
                        let data = &data[..wanted];
                        teller.output(&Piece { offset, time_ms, stream, data });
                    }
                }
                JournalItem::Gap { offset, .. } if *gap_told == Some(offset) => {}
                JournalItem::Gap { offset, lost, why } => {
                    teller.gap(offset, lost, why, reader.position());
                }
                JournalItem::End => {
                    teller.nothing_follows();
                    return Ok(Left::NothingNow);
                }
            }
        }
        Ok(Left::More)
    }
}

/// The later of the two places that were asked for.
fn find_beginning(reader: &mut JournalReader, wish: &Wish) -> io::Result<()> {
    if let Some(lines) = wish.tail {
        match wish.stream {
            Streams::Both => reader.seek_tail(lines)?,
            some => reader.seek_tail_of(lines, |stream| some.has(stream))?,
        }
    }
    match wish.from {
        Some(from) if from > reader.position() || wish.tail.is_none() => reader.seek(from),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use kennel_keeper::journal::{JournalWriter, STDERR, STDOUT};

    use super::super::wish::Form;
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

    fn read(folder: &Path, wish: &Wish, resume: Option<Place>) -> (String, Left) {
        let teller = Teller::new("x".into(), Form::Raw);
        let mut cursor = Cursor::open(folder, wish, resume, teller).unwrap();
        let left = cursor.read().unwrap();
        (String::from_utf8(cursor.teller.take()).unwrap(), left)
    }

    #[test]
    fn a_range_is_cut_to_the_byte() {
        let folder = journal();
        let wish = |from, to| Wish { from, to, ..Wish::default() };
        for (from, to, expected, left) in [
            (None, None, "one\ntwo\nbad\nthree\n", Left::NothingNow),
            (Some(2), Some(6), "e\ntw", Left::Nothing),
            (Some(9), Some(13), "ad\nt", Left::Nothing),
            (Some(4), Some(4), "", Left::Nothing),
            (None, Some(0), "", Left::Nothing),
            (Some(17), Some(99), "\n", Left::NothingNow),
            (Some(50), None, "", Left::NothingNow),
        ] {
            let (text, seen) = read(folder.path(), &wish(from, to), None);
            assert_eq!((text.as_str(), seen), (expected, left), "{from:?} to {to:?}");
        }
    }

    #[test]
    fn of_one_stream_nothing_else_is_told() {
        let folder = journal();
        for (stream, tail, from, expected) in [
            (Streams::Stderr, None, None, "bad\n"),
            (Streams::Stdout, Some(2), None, "two\nthree\n"),
            (Streams::Both, Some(2), None, "bad\nthree\n"),
            (Streams::Both, Some(3), Some(9), "ad\nthree\n"),
            (Streams::Both, Some(1), Some(0), "three\n"),
            (Streams::Both, Some(0), None, ""),
        ] {
            let wish = Wish { stream, tail, from, ..Wish::default() };
            assert_eq!(read(folder.path(), &wish, None).0, expected, "{wish:?}");
        }
    }

    #[test]
    fn where_a_client_was_goes_before_what_it_asks_for() {
        let folder = journal();
        let wish = Wish { tail: Some(1), ..Wish::default() };
        let (text, _) = read(folder.path(), &wish, Some(Place::Offset(4)));
        assert_eq!(text, "two\nbad\nthree\n");
    }

    #[test]
    fn an_empty_journal_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let nothing = folder.path().join("none");
        assert_eq!(read(&nothing, &Wish::default(), None), (String::new(), Left::NothingNow));
    }
}

//! Reading a journal, while it is being written or later.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::format::{LossReason, RecordContent};
use super::lost_output;
use super::segment::{JournalSegment, Walk, sequences};

/// The next item of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum JournalItem<Data> {
    /// Output.
    Data {
        offset: u64,
        /// When it was read, in milliseconds since 1970.
        time_ms: u64,
        /// The stream that it was written to.
        stream: u8,
        /// At most [`MAX_DATA`](super::MAX_DATA) bytes.
        data: Data,
    },
    /// Output is missing here.
    Gap {
        offset: u64,
        /// The number of missing bytes, if it is known.
        lost: Option<u64>,
        why: LossReason,
    },
    /// There is no more output yet.
    End,
}

/// An item with the range of its data in the window of the walk.
type ReadStep = JournalItem<Range<usize>>;

/// Reads a journal from its files. The writer does not know its readers.
#[derive(Debug)]
pub struct JournalReader {
    folder: PathBuf,
    /// None until the first segment was found.
    walk: Option<Walk>,
    /// The offset of the next byte to return. Earlier output is skipped.
    wanted: u64,
    /// Whether to begin with a gap, since something may have been dropped before the first item.
    dropped_before: bool,
    /// Whether the lost-output note was returned.
    note_returned: bool,
}

impl JournalReader {
    /// Opens a journal at offset 0. A missing folder is an empty journal.
    pub fn open(folder: &Path) -> io::Result<Self> {
        sequences(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            walk: None,
            wanted: 0,
            dropped_before: false,
            note_returned: false,
        })
    }

    /// Returns the offset of the oldest byte.
    pub fn start(&self) -> io::Result<u64> {
        Ok(self.following(0)?.map_or(0, |oldest| oldest.head.start))
    }

    /// Returns the offset after the newest byte. Lost bytes count only once their gap is written.
    pub fn end(&self) -> io::Result<u64> {
        let Some(newest) = self.newest_first()?.next().transpose()? else { return Ok(0) };
        let mut walk = Walk::over(newest);
        walk.skip_to_end()?;
        Ok(walk.offset())
    }

    /// Returns the offset of the next byte that will be returned.
    pub fn position(&self) -> u64 {
        self.wanted
    }

    /// Moves to an offset. If output there was dropped, a gap follows. Beyond the end, reads return
    /// no output yet. A gap of unknown size has no length: a seek to its offset returns it again.
    pub fn seek(&mut self, offset: u64) -> io::Result<()> {
        let is_later = |segment: &JournalSegment| segment.head.start > offset;
        let found = self.newest_first()?.find(|found| !found.as_ref().is_ok_and(is_later));
        self.walk = found.transpose()?.map(Walk::over);
        self.wanted = offset;
        self.dropped_before = false;
        Ok(())
    }

    /// Moves to the beginning of the last `lines` lines of all streams.
    pub fn seek_tail(&mut self, lines: usize) -> io::Result<()> {
        if lines == 0 {
            let end = self.end()?;
            return self.seek(end);
        }
        // The newlines still to be found, backwards. One at the very end ends the last line.
        let mut left = lines;
        let mut last_byte_known = false;
        for segment in self.newest_first()? {
            let segment = segment?;
            let sequence = segment.head.sequence;
            let (newlines, last_byte) = count_newlines(segment)?;
            if !last_byte_known && last_byte.is_some() {
                last_byte_known = true;
                left += usize::from(last_byte == Some(b'\n'));
            }
            if newlines >= left {
                if let Some(segment) = JournalSegment::open(&self.folder, sequence)? {
                    let offset = after_newline(segment, newlines - left)?;
                    return self.seek(offset);
                }
                // It was reused meanwhile, so everything older is gone too.
                break;
            }
            left -= newlines;
        }
        let start = self.start()?;
        self.seek(start)
    }

    /// Moves to the last `lines` lines of some streams. This reads the whole journal.
    pub fn seek_tail_of(&mut self, lines: usize, wanted: impl Fn(u8) -> bool) -> io::Result<()> {
        let start = self.start()?;
        self.seek(start)?;
        let mut begins = VecDeque::new();
        let mut at_line_start = true;
        loop {
            match self.next()? {
                JournalItem::Data { offset, stream, data, .. } if wanted(stream) => {
                    for (at, byte) in data.iter().enumerate() {
                        if at_line_start {
                            begins.push_back(offset + at as u64);
                        }
                        at_line_start = *byte == b'\n';
                        if begins.len() > lines {
                            begins.pop_front();
                        }
                    }
                }
                JournalItem::Data { .. } | JournalItem::Gap { .. } => {}
                JournalItem::End => break,
            }
        }
        let end = self.position();
        self.seek(begins.front().copied().unwrap_or(end))
    }

    /// Moves to the first output of this time or later. If older output was dropped, so that some
    /// of it may be missing, a gap of unknown size comes first.
    pub fn seek_since(&mut self, time_ms: u64) -> io::Result<()> {
        let mut oldest = None;
        for segment in self.newest_first()? {
            let segment = segment?;
            let head = segment.head;
            if head.time_ms < time_ms {
                let mut walk = Walk::over(segment);
                let mut offset = walk.offset();
                while walk.next()?.is_some_and(|found| found.record.time_ms < time_ms) {
                    offset = walk.offset();
                }
                return self.seek(offset);
            }
            oldest = Some(head.start);
        }
        let start = oldest.unwrap_or(0);
        self.seek(start)?;
        self.dropped_before = start > 0;
        Ok(())
    }

    /// The next item.
    // Not an iterator: an item borrows, and more may follow after the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<JournalItem<&[u8]>> {
        let step = self.step()?;
        Ok(match (step, &self.walk) {
            (ReadStep::Data { offset, time_ms, stream, data }, Some(walk)) => {
                JournalItem::Data { offset, time_ms, stream, data: walk.data(data) }
            }
            (ReadStep::Gap { offset, lost, why }, _) => JournalItem::Gap { offset, lost, why },
            (ReadStep::Data { .. } | ReadStep::End, _) => JournalItem::End,
        })
    }

    fn step(&mut self) -> io::Result<ReadStep> {
        if std::mem::take(&mut self.dropped_before) {
            return Ok(ReadStep::Gap { offset: self.wanted, lost: None, why: LossReason::Dropped });
        }
        loop {
            if let Some(step) = self.step_in_segment()? {
                return Ok(step);
            }
            let after = self.walk.as_ref().map_or(0, |walk| walk.segment().head.sequence);
            let Some(next) = self.following(after)? else { return self.step_at_end() };
            // From now on the current segment does not grow. It may have grown since the last look.
            if let Some(step) = self.step_in_segment()? {
                return Ok(step);
            }
            if let Some(gap) = self.continue_in(next)? {
                return Ok(gap);
            }
        }
    }

    /// Returns the step at the end of the journal: a loss that could only be noted beside it.
    fn step_at_end(&mut self) -> io::Result<ReadStep> {
        if self.note_returned {
            return Ok(ReadStep::End);
        }
        let lost = lost_output::read(&self.folder)?;
        self.note_returned = lost.is_some();
        let (offset, why) = (self.wanted, LossReason::DiskFull);
        Ok(lost.map_or(ReadStep::End, |_| ReadStep::Gap { offset, lost, why }))
    }

    /// Returns the next step in the current segment.
    fn step_in_segment(&mut self) -> io::Result<Option<ReadStep>> {
        let Some(walk) = &mut self.walk else { return Ok(None) };
        while let Some(found) = walk.next()? {
            let record = found.record;
            let passed = self.wanted.saturating_sub(record.offset);
            let offset = record.offset + passed;
            if record.end() < self.wanted {
                continue;
            }
            match record.content {
                RecordContent::Gap { lost: None, why } => {
                    return Ok(Some(ReadStep::Gap { offset, lost: None, why }));
                }
                _ if record.end() == self.wanted => {}
                RecordContent::Gap { lost: Some(lost), why } => {
                    self.wanted = record.end();
                    return Ok(Some(ReadStep::Gap { offset, lost: Some(lost - passed), why }));
                }
                RecordContent::Data { stream } => {
                    self.wanted = record.end();
                    // It is less than the record's length, so it fits.
                    let data = found.data.start + passed as usize..found.data.end;
                    let time_ms = record.time_ms;
                    return Ok(Some(ReadStep::Data { offset, time_ms, stream, data }));
                }
            }
        }
        Ok(None)
    }

    /// Continues in the next segment. Returns a gap if something is missing in between.
    fn continue_in(&mut self, next: JournalSegment) -> io::Result<Option<ReadStep>> {
        let start = next.head.start;
        let why = match &self.walk {
            Some(walk) if walk.segment().is_kept()? => LossReason::Damaged,
            _ => LossReason::Dropped,
        };
        self.walk = Some(match self.walk.take() {
            Some(walk) => walk.on_to(next),
            None => Walk::over(next),
        });
        if start <= self.wanted {
            return Ok(None);
        }
        let gap = ReadStep::Gap { offset: self.wanted, lost: Some(start - self.wanted), why };
        self.wanted = start;
        Ok(Some(gap))
    }

    /// Returns the oldest segment after this sequence.
    fn following(&self, after: u64) -> io::Result<Option<JournalSegment>> {
        if let Some(next) = JournalSegment::open(&self.folder, after + 1)? {
            return Ok(Some(next));
        }
        let mut later = sequences(&self.folder)?.into_iter().filter(|sequence| *sequence > after);
        let open = |sequence| JournalSegment::open(&self.folder, sequence).transpose();
        let mut found = later.find_map(open).transpose()?;
        // The listing may have missed a segment.
        while let Some(lower) = found.as_ref().map(|segment| segment.head.sequence - 1)
            && lower > after
            && let Some(segment) = JournalSegment::open(&self.folder, lower)?
        {
            found = Some(segment);
        }
        Ok(found)
    }

    fn newest_first(&self) -> io::Result<impl Iterator<Item = io::Result<JournalSegment>> + use<>> {
        let folder = self.folder.clone();
        Ok(sequences(&self.folder)?
            .into_iter()
            .rev()
            .filter_map(move |sequence| JournalSegment::open(&folder, sequence).transpose()))
    }
}

fn count_newlines(segment: JournalSegment) -> io::Result<(usize, Option<u8>)> {
    let mut walk = Walk::over(segment);
    let (mut newlines, mut last_byte) = (0, None);
    while let Some(found) = walk.next()? {
        if let RecordContent::Data { .. } = found.record.content {
            let data = walk.data(found.data);
            newlines += data.iter().filter(|byte| **byte == b'\n').count();
            last_byte = data.last().copied();
        }
    }
    Ok((newlines, last_byte))
}

/// Returns the offset after the newline that has `before` others before it in the segment.
fn after_newline(segment: JournalSegment, mut before: usize) -> io::Result<u64> {
    let mut walk = Walk::over(segment);
    while let Some(found) = walk.next()? {
        let RecordContent::Data { .. } = found.record.content else { continue };
        let newlines = walk.data(found.data).iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        for (index, _) in newlines {
            if before == 0 {
                return Ok(found.record.offset + index as u64 + 1);
            }
            before -= 1;
        }
    }
    // It was reused meanwhile: what is left begins after it.
    Ok(walk.offset())
}

//! Those that read a journal, while it is written or later.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::format::{LossReason, RecordContent};
use super::lost_output;
use super::segment::{Segment, Walk, sequences};

/// What comes next in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum JournalItem<'a> {
    /// Output.
    Data {
        /// Where in all output it begins.
        offset: u64,
        /// When it was read, in milliseconds since 1970.
        time_ms: u64,
        /// Which stream it came from.
        stream: u8,
        /// At most [`MAX_DATA`](super::MAX_DATA) bytes.
        data: &'a [u8],
    },
    /// Output is missing here.
    Gap {
        /// Where in all output it begins.
        offset: u64,
        /// How much, if that is known.
        lost: Option<u64>,
        /// Why.
        why: LossReason,
    },
    /// Nothing more for now. Ask again when there may be.
    End,
}

/// [`JournalItem`], before its data is borrowed.
enum ReadStep {
    Data { offset: u64, time_ms: u64, stream: u8, data: Range<usize> },
    Gap { offset: u64, lost: Option<u64>, why: LossReason },
    End,
}

/// Reads a journal from its files. The writer knows nothing of its readers.
#[derive(Debug)]
pub struct JournalReader {
    folder: PathBuf,
    /// Where we are; nothing before the first segment was found.
    walk: Option<Walk>,
    /// The offset of the next byte to hand out. What comes before is passed over.
    wanted: u64,
    /// To be said first: something may have been dropped before the first item.
    dropped_before: bool,
    /// Whether it was said already that the end is missing.
    told_untold: bool,
}

impl JournalReader {
    /// Open a journal at offset 0. A missing folder is an empty journal.
    pub fn open(folder: &Path) -> io::Result<Self> {
        sequences(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            walk: None,
            wanted: 0,
            dropped_before: false,
            told_untold: false,
        })
    }

    /// The offset of the oldest byte kept.
    pub fn start(&self) -> io::Result<u64> {
        Ok(self.following(0)?.map_or(0, |oldest| oldest.head.start))
    }

    /// The offset after the newest byte. What was lost since and is not told yet does not count.
    pub fn end(&self) -> io::Result<u64> {
        let Some(newest) = self.newest_first()?.next().transpose()? else { return Ok(0) };
        let mut walk = Walk::over(newest);
        walk.skip_to_end()?;
        Ok(walk.offset())
    }

    /// The offset of the next byte that will be handed out.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.wanted
    }

    /// Go to an offset. What was dropped from there on is told as a gap; one beyond the end is waited for.
    ///
    /// A gap of unknown size has an offset but no length: it comes again for who seeks to that offset.
    pub fn seek(&mut self, offset: u64) -> io::Result<()> {
        let mut found = None;
        for segment in self.newest_first()? {
            let segment = segment?;
            if segment.head.start <= offset {
                found = Some(segment);
                break;
            }
        }
        self.go_to(found, offset);
        Ok(())
    }

    /// Go to where the last `lines` lines begin, whatever their streams.
    pub fn seek_tail(&mut self, lines: usize) -> io::Result<()> {
        if lines == 0 {
            let end = self.end()?;
            return self.seek(end);
        }
        // Newlines still to be found, going back. One at the very end ends the last line.
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
                if let Some(segment) = Segment::open(&self.folder, sequence)? {
                    let offset = after_newline(segment, newlines - left)?;
                    return self.seek(offset);
                }
                // Used anew meanwhile, so everything older is gone too.
                break;
            }
            left -= newlines;
        }
        let start = self.start()?;
        self.seek(start)
    }

    /// Go to where the last `lines` lines of some of the streams begin. Reads all that is kept.
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

    /// Go to the first output of that time or later. If older output was dropped, so that some of what was asked
    /// for may be missing, a gap of unknown size comes first.
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

    /// What comes next.
    // Not an iterator: an item borrows, and there may be more after the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<JournalItem<'_>> {
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
            // Now nothing is added to ours any more: what was, since we looked, still counts.
            if let Some(step) = self.step_in_segment()? {
                return Ok(step);
            }
            if let Some(gap) = self.move_on(next)? {
                return Ok(gap);
            }
        }
    }

    /// Nothing more is in the journal. What could not even be told there may be told beside it.
    fn step_at_end(&mut self) -> io::Result<ReadStep> {
        if self.told_untold {
            return Ok(ReadStep::End);
        }
        let untold = lost_output::read(&self.folder)?;
        self.told_untold = untold.is_some();
        let (offset, why) = (self.wanted, LossReason::DiskFull);
        Ok(untold.map_or(ReadStep::End, |lost| ReadStep::Gap { offset, lost: Some(lost), why }))
    }

    /// What comes next in our segment, as far as that is wanted.
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
                    // Less than the record's length, so it fits.
                    let data = found.data.start + passed as usize..found.data.end;
                    let time_ms = record.time_ms;
                    return Ok(Some(ReadStep::Data { offset, time_ms, stream, data }));
                }
            }
        }
        Ok(None)
    }

    /// On to the next segment; tells if something is missing in between.
    fn move_on(&mut self, next: Segment) -> io::Result<Option<ReadStep>> {
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

    fn go_to(&mut self, segment: Option<Segment>, offset: u64) {
        self.walk = segment.map(Walk::over);
        self.wanted = offset;
        self.dropped_before = false;
    }

    /// The oldest segment after that sequence.
    fn following(&self, after: u64) -> io::Result<Option<Segment>> {
        if let Some(next) = Segment::open(&self.folder, after + 1)? {
            return Ok(Some(next));
        }
        let mut found = None;
        for sequence in sequences(&self.folder)?.into_iter().filter(|sequence| *sequence > after) {
            found = Segment::open(&self.folder, sequence)?;
            if found.is_some() {
                break;
            }
        }
        // The listing may have missed one that is there.
        while let Some(lower) = found.as_ref().map(|segment| segment.head.sequence - 1)
            && lower > after
            && let Some(segment) = Segment::open(&self.folder, lower)?
        {
            found = Some(segment);
        }
        Ok(found)
    }

    fn newest_first(&self) -> io::Result<impl Iterator<Item = io::Result<Segment>> + use<>> {
        let folder = self.folder.clone();
        Ok(sequences(&self.folder)?
            .into_iter()
            .rev()
            .filter_map(move |sequence| Segment::open(&folder, sequence).transpose()))
    }
}

fn count_newlines(segment: Segment) -> io::Result<(usize, Option<u8>)> {
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

/// The offset after the newline that has `before` others before it in the segment.
fn after_newline(segment: Segment, mut before: usize) -> io::Result<u64> {
    let mut walk = Walk::over(segment);
    while let Some(found) = walk.next()? {
        let RecordContent::Data { .. } = found.record.content else { continue };
        let newlines = walk.data(found.data).iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let mut passed = 0;
        for (index, _) in newlines {
            if passed == before {
                return Ok(found.record.offset + index as u64 + 1);
            }
            passed += 1;
        }
        before -= passed;
    }
    // Used anew meanwhile: what is left begins after it.
    Ok(walk.offset())
}

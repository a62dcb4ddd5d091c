//! The files of segments, and the walk over the records of one segment.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::format::{LONGEST_RECORD, RECORD_HEAD, RecordHead, SEGMENT_HEAD, SegmentHead};
use super::reader::JournalReader;
use super::seal::Seal;
use crate::if_exists;

pub(super) fn path_of(folder: &Path, sequence: u64) -> PathBuf {
    folder.join(format!("{sequence:08x}"))
}

/// Eight digits are enough for hundreds of terabytes.
fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.len() == 8 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u64::from_str_radix(name, 16).ok()).flatten()
}

/// Returns the sequences in a folder, oldest first. A file that is being renamed may be missing.
pub(super) fn sequences(folder: &Path) -> io::Result<Vec<u64>> {
    let Some(entries) = if_exists(fs::read_dir(folder))? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        found.extend(name.to_str().and_then(sequence_of));
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the disk space that a journal uses. A missing journal uses none.
pub fn bytes_on_disk(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for sequence in sequences(folder)? {
        // It may have been renamed since the listing.
        let metadata = if_exists(fs::metadata(path_of(folder, sequence)))?;
        bytes += metadata.map_or(0, |metadata| metadata.blocks() * 512);
    }
    Ok(bytes)
}

/// The extent of a journal at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The offset of the oldest byte.
    pub start: u64,
    /// The offset after the newest byte.
    pub end: u64,
    /// The disk space that it uses.
    pub bytes_on_disk: u64,
}

impl Recorded {
    /// Reads the extent of a journal. A missing journal is empty.
    pub fn look(folder: &Path) -> io::Result<Self> {
        let reader = JournalReader::open(folder)?;
        let (start, end) = (reader.start()?, reader.end()?);
        Ok(Self { start, end, bytes_on_disk: bytes_on_disk(folder)? })
    }
}

/// A segment that is open for reading. The writer may reuse it at any moment.
#[derive(Debug)]
pub(super) struct JournalSegment {
    file: File,
    pub(super) head: SegmentHead,
}

impl JournalSegment {
    /// Returns `None` if there is no segment of this sequence yet, or no longer.
    pub(super) fn open(folder: &Path, sequence: u64) -> io::Result<Option<Self>> {
        let Some(file) = if_exists(File::open(path_of(folder, sequence)))? else {
            return Ok(None);
        };
        let head = read_head(&file)?.filter(|head| head.sequence == sequence);
        Ok(head.map(|head| Self { file, head }))
    }

    /// Returns whether it was neither reused nor removed.
    pub(super) fn is_kept(&self) -> io::Result<bool> {
        Ok(read_head(&self.file)? == Some(self.head) && self.file.metadata()?.nlink() > 0)
    }
}

fn read_head(file: &File) -> io::Result<Option<SegmentHead>> {
    let mut bytes = [0; SEGMENT_HEAD];
    let got = read_at(file, &mut bytes, 0)?;
    Ok((got == SEGMENT_HEAD).then(|| SegmentHead::decode(&bytes)).flatten())
}

fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[derive(Debug)]
pub(super) struct FoundRecord {
    pub(super) record: RecordHead,
    /// The range for [`Walk::data`].
    pub(super) data: Range<usize>,
}

/// A walk over the records of one segment.
#[derive(Debug)]
pub(super) struct Walk {
    segment: JournalSegment,
    seal: Seal,
    /// A copy of a part of the file, which does not change while records are checked.
    window: Box<[u8]>,
    filled: usize,
    /// The position of the window in the file.
    window_at: u64,
    /// The position of the next record in the file.
    position: u64,
    /// The offset of the next record.
    offset: u64,
}

impl Walk {
    pub(super) fn over(segment: JournalSegment) -> Self {
        Self::with_window(segment, vec![0; LONGEST_RECORD].into_boxed_slice())
    }

    /// Continues with another segment, with the same window.
    pub(super) fn on_to(self, segment: JournalSegment) -> Self {
        Self::with_window(segment, self.window)
    }

    fn with_window(segment: JournalSegment, window: Box<[u8]>) -> Self {
        let (seal, offset) = (segment.head.seal(), segment.head.start);
        let position = SEGMENT_HEAD as u64;
        Self { segment, seal, window, filled: 0, window_at: position, position, offset }
    }

    pub(super) fn segment(&self) -> &JournalSegment {
        &self.segment
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next record, if it is complete.
    pub(super) fn next(&mut self) -> io::Result<Option<FoundRecord>> {
        if let Some(found) = self.next_in_window() {
            return Ok(Some(found));
        }
        self.filled = read_at(&self.segment.file, &mut self.window, self.position)?;
        self.window_at = self.position;
        Ok(self.next_in_window())
    }

    pub(super) fn skip_to_end(&mut self) -> io::Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }

    fn next_in_window(&mut self) -> Option<FoundRecord> {
        let at = (self.position - self.window_at) as usize;
        let bytes = self.window[..self.filled].get(at..)?;
        let record = RecordHead::decode(&self.seal, self.offset, bytes)?;
        let data = at + RECORD_HEAD;
        let data = data..data + record.length;
        self.position = self.window_at + data.end as u64;
        self.offset = record.end();
        Some(FoundRecord { record, data })
    }

    /// Returns the data of a record, until the next call of [`Self::next`].
    pub(super) fn data(&self, range: Range<usize>) -> &[u8] {
        &self.window[range]
    }
}

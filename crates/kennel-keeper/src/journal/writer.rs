//! Writing a journal: by a keeper, or by a daemon that finds a dead keeper.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Disk, RealDisk};
use super::format::{
    GAP_RECORD, LossReason, MAX_DATA, RECORD_HEAD, RecordHead, SEGMENT_HEAD, SegmentHead,
};
use super::lost_output;
use super::seal::Seal;
use super::segment::{JournalSegment, Walk, path_of, sequences};
use crate::if_exists;

const MIN_SEGMENT: u64 = 64 * 1024;
const MAX_SEGMENT: u64 = 4 * 1024 * 1024;
/// The lowest limit. A lower value is raised to this, so user interfaces refuse it.
pub const MIN_LIMIT: u64 = 2 * MIN_SEGMENT;
/// Output is not split into pieces smaller than this.
const MIN_PIECE: usize = 256;
/// On a full disk, a segment smaller than this is removed, not reused.
const MIN_REUSED: u64 = 4096;
/// The maximum length of the headers before the data in one write.
const LONGEST_LEAD: usize = SEGMENT_HEAD + 2 * GAP_RECORD;

/// The result of writing output.
#[derive(Debug)]
#[must_use]
pub enum Appended {
    /// All of it is in the journal. Older output may have been dropped for it.
    Kept,
    /// Some of it could not be written. The journal will have a gap there.
    Lost {
        /// The number of lost bytes.
        bytes: u64,
        /// The reason.
        error: io::Error,
    },
}

/// Writes a journal. There must be no other writer.
#[derive(Debug)]
pub struct JournalWriter {
    folder: PathBuf,
    disk: Box<dyn Disk>,
    limit: u64,
    segment_size: u64,
    nonce: u64,
    /// Segments before the current one, from old to new.
    older: VecDeque<Older>,
    current: Option<Current>,
    /// The sequence of the first segment, as long as there is none.
    first_sequence: u64,
    /// The offset of the end of the journal.
    written: u64,
    /// The number of bytes lost since then for which the journal has no gap yet.
    lost: u64,
}

#[derive(Debug, Clone, Copy)]
struct Older {
    sequence: u64,
    start: u64,
    /// The length of the file.
    bytes: u64,
}

#[derive(Debug)]
struct Current {
    file: File,
    sequence: u64,
    start: u64,
    seal: Seal,
    /// The number of bytes written so far. At 0 it has no header yet.
    used: u64,
    /// The length of the file when it was reused; 0 for a new file.
    inherited: u64,
}

impl Current {
    fn new(file: File, nonce: u64, sequence: u64, inherited: u64) -> Self {
        Self { file, sequence, start: 0, seal: Seal::new(nonce, sequence), used: 0, inherited }
    }

    fn bytes(&self) -> u64 {
        self.used.max(self.inherited)
    }
}

#[derive(Debug, Clone, Copy)]
enum JournalPiece<'a> {
    Data {
        stream: u8,
        data: &'a [u8],
    },
    Gap {
        lost: Option<u64>,
        why: LossReason,
    },
    /// Only the gap for the bytes lost so far.
    Loss,
}

impl JournalWriter {
    /// Begins a journal, or continues an existing one. `folder` is absolute, and its parent exists.
    /// At most `limit` bytes are kept on disk. Folder and files are created with the first output:
    /// many sessions have none.
    pub fn create(folder: &Path, limit: u64) -> io::Result<Self> {
        Self::create_on(Box::new(RealDisk), folder, limit)
    }

    /// Writes a gap at the end of the journal of a dead keeper. The caller must know that the
    /// keeper is dead: its lock is free.
    pub fn mark_gap_in(
        folder: &Path,
        time_ms: u64,
        lost: Option<u64>,
        why: LossReason,
    ) -> io::Result<()> {
        let mut writer = Self::create(folder, u64::MAX)?;
        // These few bytes may exceed a full segment, so that no other one is dropped.
        writer.segment_size = u64::MAX;
        writer.place(time_ms, JournalPiece::Gap { lost, why }).map(|_| ())
    }

    pub(super) fn create_on(disk: Box<dyn Disk>, folder: &Path, limit: u64) -> io::Result<Self> {
        let limit = limit.max(MIN_LIMIT);
        // In whole pages.
        let segment_size = (limit / 8).clamp(MIN_SEGMENT, MAX_SEGMENT) & !4095;
        let mut nonce = [0; 8];
        rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty())?;
        let mut writer = Self {
            folder: folder.to_owned(),
            disk,
            limit,
            segment_size,
            nonce: u64::from_le_bytes(nonce),
            older: VecDeque::new(),
            current: None,
            first_sequence: 1,
            written: 0,
            lost: 0,
        };
        writer.resume()?;
        Ok(writer)
    }

    /// Continues an existing journal.
    fn resume(&mut self) -> io::Result<()> {
        for sequence in sequences(&self.folder)? {
            self.first_sequence = sequence + 1;
            // A file without a header was about to be reused, or was damaged by a power cut.
            let Some(segment) = JournalSegment::open(&self.folder, sequence)? else {
                self.disk.remove(&path_of(&self.folder, sequence))?;
                continue;
            };
            let bytes = fs::metadata(path_of(&self.folder, sequence))?.len();
            self.nonce = segment.head.nonce;
            self.older.push_back(Older { sequence, start: segment.head.start, bytes });
        }
        let Some(newest) = self.older.pop_back() else { return Ok(()) };
        let Some(segment) = JournalSegment::open(&self.folder, newest.sequence)? else {
            return Err(io::Error::other("the journal has another writer"));
        };
        let mut walk = Walk::over(segment);
        walk.skip_to_end()?;
        let file = self.disk.open(&path_of(&self.folder, newest.sequence), false)?;
        let mut current = Current::new(file, self.nonce, newest.sequence, newest.bytes);
        current.start = newest.start;
        current.used = walk.position();
        self.written = walk.offset();
        self.current = Some(current);
        Ok(())
    }

    /// Returns the offset of the oldest byte.
    pub fn start(&self) -> u64 {
        let current = self.current.as_ref().filter(|current| current.used > 0);
        match (self.older.front(), current) {
            (Some(oldest), _) => oldest.start,
            (None, Some(current)) => current.start,
            (None, None) => self.written,
        }
    }

    /// Returns the offset after the last byte, including lost ones.
    pub fn end(&self) -> u64 {
        self.written + self.lost
    }

    /// Appends output. Bytes that can't be written are counted, and a gap follows later.
    pub fn append(&mut self, stream: u8, time_ms: u64, data: &[u8]) -> Appended {
        let mut rest = data;
        while !rest.is_empty() {
            match self.place(time_ms, JournalPiece::Data { stream, data: rest }) {
                Ok(written) => rest = &rest[written..],
                Err(error) => {
                    let bytes = rest.len() as u64;
                    self.lost += bytes;
                    return Appended::Lost { bytes, error };
                }
            }
        }
        Appended::Kept
    }

    /// Records bytes lost so far, in the journal or else beside it. Call this at the end.
    pub fn settle(&mut self, time_ms: u64) -> Appended {
        if self.lost == 0 {
            return Appended::Kept;
        }
        let bytes = self.lost;
        match self.place(time_ms, JournalPiece::Loss) {
            Ok(_) => Appended::Kept,
            Err(_) if lost_output::write(&self.folder, bytes).is_ok() => Appended::Kept,
            Err(error) => Appended::Lost { bytes, error },
        }
    }

    /// Writes as much of a piece as fits. Returns how much. Drops old output for new.
    fn place(&mut self, time_ms: u64, piece: JournalPiece<'_>) -> io::Result<usize> {
        let tried = match self.has_room_for(piece) {
            true => self.write(time_ms, piece, self.segment_size),
            false => self.advance().and_then(|()| self.write(time_ms, piece, self.segment_size)),
        };
        match (tried, piece) {
            (Ok(written), _) => Ok(written),
            (Err(error), JournalPiece::Data { .. }) => match self.reuse_in_need()? {
                // No more than its former length: the disk has no space for more.
                Some(room) => self.write(time_ms, piece, room),
                None => Err(error),
            },
            // No output is dropped for a gap.
            (Err(error), JournalPiece::Gap { .. } | JournalPiece::Loss) => Err(error),
        }
    }

    fn has_room_for(&self, piece: JournalPiece<'_>) -> bool {
        let least = match piece {
            JournalPiece::Data { data, .. } => data.len().min(MIN_PIECE),
            JournalPiece::Gap { .. } | JournalPiece::Loss => 0,
        };
        let least = (LONGEST_LEAD + least) as u64;
        self.current
            .as_ref()
            .is_some_and(|current| current.used.saturating_add(least) <= self.segment_size)
    }

    /// One write: the segment's header, a gap for lost bytes, and the piece, up to `room`.
    fn write(&mut self, time_ms: u64, piece: JournalPiece<'_>, room: u64) -> io::Result<usize> {
        let current = self.current.as_mut().ok_or(io::ErrorKind::StorageFull)?;
        let mut lead = Lead { bytes: [0; LONGEST_LEAD], length: 0 };
        let mut offset = self.written;
        if current.used == 0 {
            let (sequence, nonce) = (current.sequence, self.nonce);
            lead.put(&SegmentHead { sequence, start: offset, time_ms, nonce }.encode());
        }
        if self.lost > 0 {
            let lost = Some(self.lost);
            lead.put(&RecordHead::gap(&current.seal, offset, time_ms, lost, LossReason::DiskFull));
            offset += self.lost;
        }
        let data = match piece {
            JournalPiece::Data { stream, data } => {
                let taken = current.used + (lead.length + RECORD_HEAD) as u64;
                let room = usize::try_from(room.saturating_sub(taken)).unwrap_or(usize::MAX);
                let data = &data[..data.len().min(MAX_DATA).min(room)];
                if data.is_empty() {
                    return Err(io::ErrorKind::StorageFull.into());
                }
                lead.put(&RecordHead::data(&current.seal, offset, time_ms, stream, data));
                data
            }
            JournalPiece::Gap { lost, why } => {
                lead.put(&RecordHead::gap(&current.seal, offset, time_ms, lost, why));
                offset += lost.unwrap_or(0);
                &[]
            }
            JournalPiece::Loss => &[],
        };
        write_whole(&*self.disk, &current.file, lead.bytes(), data, current.used)?;
        if current.used == 0 {
            current.start = self.written;
        }
        current.used += (lead.length + data.len()) as u64;
        self.written = offset + data.len() as u64;
        self.lost = 0;
        Ok(data.len())
    }

    /// Continues in another segment: a new one, or the oldest one at the limit.
    fn advance(&mut self) -> io::Result<()> {
        while self.bytes().saturating_add(self.segment_size) > self.limit {
            let Some(oldest) = self.older.front() else { break };
            if oldest.bytes > self.segment_size {
                // It was written under another limit.
                self.drop_oldest()?;
            } else if self.reuse_oldest()? {
                return Ok(());
            }
        }
        let sequence = self.next_sequence();
        let file = self.make(sequence)?;
        self.replace_current(Current::new(file, self.nonce, sequence, 0));
        Ok(())
    }

    fn make(&self, sequence: u64) -> io::Result<File> {
        let path = path_of(&self.folder, sequence);
        match self.disk.open(&path, true) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // It is the first file, or the folder was removed.
                self.disk.make_folder(&self.folder)?;
                self.disk.open(&path, true)
            }
            result => result,
        }
    }

    /// Reuses a segment after a failed write, since it has space on disk. Returns how much.
    fn reuse_in_need(&mut self) -> io::Result<Option<u64>> {
        let Some(current) = &self.current else { return Ok(None) };
        if current.used == 0 && current.inherited > 0 {
            // It was reused for the last write, which failed too, so the problem is not space.
            return Ok(None);
        }
        let used = current.used;
        while let Some(oldest) = self.older.front() {
            if oldest.bytes < MIN_REUSED {
                self.drop_oldest()?;
            } else if self.reuse_oldest()? {
                return Ok(self.current.as_ref().map(|current| current.inherited));
            }
        }
        if used < MIN_SEGMENT {
            return Ok(None);
        }
        self.reuse_current()?;
        Ok(Some(used))
    }

    /// Makes the oldest segment the current one. Returns false if its file was removed.
    fn reuse_oldest(&mut self) -> io::Result<bool> {
        let Some(oldest) = self.older.front().copied() else { return Ok(false) };
        let sequence = self.next_sequence();
        let path = path_of(&self.folder, oldest.sequence);
        let opened = self.disk.open(&path, false).and_then(|file| {
            self.disk.rename(&path, &path_of(&self.folder, sequence)).map(|()| file)
        });
        let file = if_exists(opened)?;
        self.older.pop_front();
        let Some(file) = file else { return Ok(false) };
        self.replace_current(Current::new(file, self.nonce, sequence, oldest.bytes));
        Ok(true)
    }

    /// Starts the only segment over: the newest output is the most important.
    fn reuse_current(&mut self) -> io::Result<()> {
        let sequence = self.next_sequence();
        let Some(current) = self.current.take() else { return Ok(()) };
        let (from, to) = (path_of(&self.folder, current.sequence), path_of(&self.folder, sequence));
        if let Err(error) = self.disk.rename(&from, &to) {
            self.current = Some(current);
            return Err(error);
        }
        self.current = Some(Current::new(current.file, self.nonce, sequence, current.used));
        Ok(())
    }

    fn drop_oldest(&mut self) -> io::Result<()> {
        let Some(oldest) = self.older.front() else { return Ok(()) };
        if_exists(self.disk.remove(&path_of(&self.folder, oldest.sequence)))?;
        self.older.pop_front();
        Ok(())
    }

    /// A previous segment without a header is empty, and the next one has its sequence.
    fn replace_current(&mut self, next: Current) {
        if let Some(former) = self.current.replace(next)
            && former.used > 0
        {
            let (sequence, start, bytes) = (former.sequence, former.start, former.bytes());
            self.older.push_back(Older { sequence, start, bytes });
        }
    }

    fn next_sequence(&self) -> u64 {
        match &self.current {
            Some(current) if current.used == 0 => current.sequence,
            Some(current) => current.sequence + 1,
            None => self.first_sequence,
        }
    }

    fn bytes(&self) -> u64 {
        let older: u64 = self.older.iter().map(|older| older.bytes).sum();
        older + self.current.as_ref().map_or(0, Current::bytes)
    }
}

/// The headers before the data of a write.
struct Lead {
    bytes: [u8; LONGEST_LEAD],
    length: usize,
}

impl Lead {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// After an error a part may be written, which no reader accepts.
fn write_whole(disk: &dyn Disk, file: &File, head: &[u8], data: &[u8], at: u64) -> io::Result<()> {
    let mut done = 0;
    while done < head.len() + data.len() {
        let head_left = head.get(done..).unwrap_or(&[]);
        let data_left = &data[done.saturating_sub(head.len())..];
        match disk.write(file, head_left, data_left, at + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => done += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;

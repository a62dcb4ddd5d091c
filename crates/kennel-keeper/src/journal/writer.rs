//! The one that writes a journal: a keeper, or whoever finds that a keeper has died.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Disk, TrueDisk};
use super::format::{
    GAP_RECORD, LossReason, MAX_DATA, RECORD_HEAD, RecordHead, SEGMENT_HEAD, SegmentHead,
};
use super::lost_output;
use super::seal::Seal;
use super::segment::{Segment, Walk, path_of, sequences};

/// Segments are never meant to be smaller.
const MIN_SEGMENT: u64 = 64 * 1024;
/// Nor larger.
const MAX_SEGMENT: u64 = 4 * 1024 * 1024;
/// The least limit; a lower one counts as this, so whoever takes one from people refuses it.
pub const MIN_LIMIT: u64 = 2 * MIN_SEGMENT;
/// A piece of output is not split off if it were smaller than this.
const MIN_PIECE: usize = 256;
/// In need of room, a segment smaller than this is not worth writing over.
const MIN_REUSED: u64 = 4096;
/// The most that may come before data in one write.
const LONGEST_LEAD: usize = SEGMENT_HEAD + 2 * GAP_RECORD;

/// What became of output.
#[derive(Debug)]
#[must_use]
pub enum Appended {
    /// All of it is in the journal. Older output may have been given up for it.
    Kept,
    /// Some could not be written. The journal will have a gap there.
    Lost {
        /// How much.
        bytes: u64,
        /// Why.
        error: io::Error,
    },
}

/// Writes a journal. There must be no other writer of it.
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
    /// The sequence of the first segment, if there is none.
    first_sequence: u64,
    /// The end of what is in the journal.
    written: u64,
    /// Lost since, and not told in the journal yet.
    lost: u64,
}

/// A segment that is not written to any more.
#[derive(Debug, Clone, Copy)]
struct Older {
    sequence: u64,
    start: u64,
    /// Its length as a file.
    bytes: u64,
}

/// The segment that is written to.
#[derive(Debug)]
struct Current {
    file: File,
    sequence: u64,
    start: u64,
    seal: Seal,
    /// How far it is written. At 0 it has no head yet: it is *unborn*.
    used: u64,
    /// The length that it had in its former life; 0 if it is a new file.
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

/// What to write.
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
    /// Only what is owed: the gap for what was lost.
    Owed,
}

impl JournalWriter {
    /// Begin a journal, or go on with the one that is there. `folder` is absolute; its parent exists.
    ///
    /// No more than `limit` bytes are kept on disk. Neither the folder nor a file is made before the first
    /// output: many sessions have none.
    pub fn create(folder: &Path, limit: u64) -> io::Result<Self> {
        Self::create_on(Box::new(TrueDisk), folder, limit)
    }

    /// Write into the journal of a dead keeper that something is missing at its end.
    ///
    /// The caller must know that the keeper is dead: its lock is free.
    pub fn mark_gap_in(
        folder: &Path,
        time_ms: u64,
        lost: Option<u64>,
        why: LossReason,
    ) -> io::Result<()> {
        let mut writer = Self::create(folder, u64::MAX)?;
        // So little may go over the edge of a full segment, and no other need be given up for it.
        writer.segment_size = u64::MAX;
        writer.place(time_ms, JournalPiece::Gap { lost, why }).map(|_| ())
    }

    pub(super) fn create_on(disk: Box<dyn Disk>, folder: &Path, limit: u64) -> io::Result<Self> {
        let limit = limit.max(MIN_LIMIT);
        // Whole pages, so that no segment shares one with the next.
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
        writer.go_on()?;
        Ok(writer)
    }

    /// Take over what is there.
    fn go_on(&mut self) -> io::Result<()> {
        for sequence in sequences(&self.folder)? {
            self.first_sequence = sequence + 1;
            // One without a head was about to be used anew; or a power cut took it.
            let Some(segment) = Segment::open(&self.folder, sequence)? else {
                self.disk.remove(&path_of(&self.folder, sequence))?;
                continue;
            };
            let bytes = fs::metadata(path_of(&self.folder, sequence))?.len();
            self.nonce = segment.head.nonce;
            self.older.push_back(Older { sequence, start: segment.head.start, bytes });
        }
        let Some(newest) = self.older.pop_back() else { return Ok(()) };
        let Some(segment) = Segment::open(&self.folder, newest.sequence)? else {
            return Err(io::Error::other("another writer is at work"));
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

    /// The offset of the oldest byte kept.
    #[must_use]
    pub fn start(&self) -> u64 {
        let born = self.current.as_ref().filter(|current| current.used > 0);
        match (self.older.front(), born) {
            (Some(oldest), _) => oldest.start,
            (None, Some(current)) => current.start,
            (None, None) => self.written,
        }
    }

    /// The offset after the last byte, with those that were lost.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.written + self.lost
    }

    /// Append output. What can't be written is counted, and told in the journal once that is possible.
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

    /// Tell what was lost, if that is still owed: in the journal, or else beside it. To be called at the end.
    pub fn settle(&mut self, time_ms: u64) -> Appended {
        if self.lost == 0 {
            return Appended::Kept;
        }
        let bytes = self.lost;
        match self.place(time_ms, JournalPiece::Owed) {
            Ok(_) => Appended::Kept,
            Err(_) if lost_output::write(&self.folder, bytes).is_ok() => Appended::Kept,
            Err(error) => Appended::Lost { bytes, error },
        }
    }

    /// Write a piece, or as much of it as fits; tells how much of its data. Gives up old output for new.
    fn place(&mut self, time_ms: u64, piece: JournalPiece<'_>) -> io::Result<usize> {
        let tried = match self.has_room_for(piece) {
            true => self.write(time_ms, piece, self.segment_size),
            false => self.turn_over().and_then(|()| self.write(time_ms, piece, self.segment_size)),
        };
        match (tried, piece) {
            (Ok(written), _) => Ok(written),
            (Err(error), JournalPiece::Data { .. }) => match self.reuse_in_need()? {
                // Only what was its own before: there is no room for more.
                Some(room) => self.write(time_ms, piece, room),
                None => Err(error),
            },
            // To say that something is missing is not worth missing more.
            (Err(error), JournalPiece::Gap { .. } | JournalPiece::Owed) => Err(error),
        }
    }

    fn has_room_for(&self, piece: JournalPiece<'_>) -> bool {
        let least = match piece {
            JournalPiece::Data { data, .. } => data.len().min(MIN_PIECE),
            JournalPiece::Gap { .. } | JournalPiece::Owed => 0,
        };
        let least = (LONGEST_LEAD + least) as u64;
        self.current
            .as_ref()
            .is_some_and(|current| current.used.saturating_add(least) <= self.segment_size)
    }

    /// One write: the segment's head if it has none, the gap if one is owed, and the piece, up to `room`.
    fn write(&mut self, time_ms: u64, piece: JournalPiece<'_>, room: u64) -> io::Result<usize> {
        let current = self.current.as_mut().ok_or(io::ErrorKind::StorageFull)?;
        let mut lead = Lead::default();
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
            JournalPiece::Owed => &[],
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

    /// Go on in another segment: a new one, or the oldest if the bound is reached.
    fn turn_over(&mut self) -> io::Result<()> {
        while self.bytes().saturating_add(self.segment_size) > self.limit {
            let Some(oldest) = self.older.front() else { break };
            if oldest.bytes > self.segment_size {
                // From a time with another limit.
                self.give_up_oldest()?;
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
                // It is the first, or somebody removed the folder.
                self.disk.make_folder(&self.folder)?;
                self.disk.open(&path, true)
            }
            result => result,
        }
    }

    /// A write has failed. Make a segment current that has room of its own: tells how much.
    fn reuse_in_need(&mut self) -> io::Result<Option<u64>> {
        let Some(current) = &self.current else { return Ok(None) };
        if current.used == 0 && current.inherited > 0 {
            // It was given up for the last write, in vain. One is enough: the trouble is not room.
            return Ok(None);
        }
        let used = current.used;
        while let Some(oldest) = self.older.front() {
            if oldest.bytes < MIN_REUSED {
                self.give_up_oldest()?;
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

    /// Make the oldest segment the current one; not if somebody has removed it.
    fn reuse_oldest(&mut self) -> io::Result<bool> {
        let Some(oldest) = self.older.front().copied() else { return Ok(false) };
        let sequence = self.next_sequence();
        let path = path_of(&self.folder, oldest.sequence);
        let opened = self.disk.open(&path, false).and_then(|file| {
            self.disk.rename(&path, &path_of(&self.folder, sequence)).map(|()| file)
        });
        match opened {
            Ok(file) => {
                self.older.pop_front();
                self.replace_current(Current::new(file, self.nonce, sequence, oldest.bytes));
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.older.pop_front();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The only segment begins again, if it has come to something: the newest output is worth the most.
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

    fn give_up_oldest(&mut self) -> io::Result<()> {
        let Some(oldest) = self.older.front() else { return Ok(()) };
        match self.disk.remove(&path_of(&self.folder, oldest.sequence)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.older.pop_front();
        Ok(())
    }

    /// An unborn segment has nothing in it, and its successor has taken its name.
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

/// What comes before the data.
struct Lead {
    bytes: [u8; LONGEST_LEAD],
    length: usize,
}

impl Default for Lead {
    fn default() -> Self {
        Self { bytes: [0; LONGEST_LEAD], length: 0 }
    }
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

/// On an error a part may be there; without the rest it is nothing.
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

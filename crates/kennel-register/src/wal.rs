//! Our own handle on SQLite's write-ahead log.
//!
//! It does three things that SQLite does not do for us: it flushes the log exactly when a commit has to
//! survive a power cut, it sees when somebody took the file away, and it fills the log with zeros ahead of
//! its end.
//!
//! **Zeros ahead.** A flush of bytes inside a file costs a third of one that makes the file longer. And the
//! room is ours: the outcome of a session that was let in can be written when the disk is full (on file
//! systems that write in place; one that copies on write promises nothing). Zeros are never taken for
//! records: a frame of page 0 ends the log for SQLite. The handle appends, so zeros never cover anything,
//! whoever else writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const HEADER_BYTES: u64 = 32;
/// A page, and what the log says about it.
const FRAME_BYTES: u64 = 24 + crate::PAGE_BYTES;
const STEP_BYTES: u64 = 1 << 20;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The log, held open.
#[derive(Debug)]
pub(crate) struct Wal {
    file: File,
    log: Place,
    database: Place,
}

/// A name, and the file that had it when we looked first.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    file: (u64, u64),
}

/// A file that is no longer where it was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// The log's name is gone. What is in it can still be saved.
    LogRemoved,
    /// Something else has the name, or the database's name is gone.
    Replaced(PathBuf),
}

impl Wal {
    /// Opens the log of a database. SQLite must have made it.
    pub(crate) fn open(database: &Path) -> io::Result<Self> {
        let path = beside(database, "-wal");
        // Only this file is ever opened beside SQLite: closing a handle on the database or on its index
        // would drop SQLite's locks on them.
        let file = OpenOptions::new().append(true).mode(0o600).open(&path)?;
        let log = Place { path, file: identity(&file.metadata()?) };
        let database =
            Place { path: database.to_owned(), file: identity(&fs::metadata(database)?) };
        Ok(Self { file, log, database })
    }

    /// Puts all that SQLite has written to the log on the disk.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Whether both files are where they were.
    pub(crate) fn check(&self) -> Result<(), Moved> {
        if !self.database.is_same() {
            return Err(Moved::Replaced(self.database.path.clone()));
        }
        match fs::metadata(&self.log.path) {
            Ok(found) if identity(&found) == self.log.file => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Moved::LogRemoved),
            _ => Err(Moved::Replaced(self.log.path.clone())),
        }
    }

    /// Sees to it that so many more pages fit behind the first `frames` without asking the disk for room.
    /// Gives whether the file had to grow.
    pub(crate) fn make_room(&self, frames: u64, pages: u64) -> io::Result<bool> {
        let wanted = HEADER_BYTES + (frames + pages) * FRAME_BYTES;
        let length = self.file.metadata()?.len();
        if length >= wanted {
            return Ok(false);
        }
        self.append_zeros(wanted.next_multiple_of(STEP_BYTES) - length)?;
        Ok(true)
    }

    fn append_zeros(&self, mut bytes: u64) -> io::Result<()> {
        let disk = rustix::fs::fstatvfs(&self.file)?;
        // Not the last of a disk: others need some, and half a step is of no use.
        if disk.f_bavail.saturating_mul(disk.f_frsize) < bytes + STEP_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut file = &self.file;
        while bytes > 0 {
            let part = bytes.min(ZEROS.len() as u64);
            file.write_all(&ZEROS[..part as usize])?;
            bytes -= part;
        }
        Ok(())
    }

    /// Lets every flush fail from now on: a pipe has none.
    #[cfg(test)]
    pub(crate) fn break_flushes(&mut self) {
        let (_reader, writer) = std::io::pipe().unwrap();
        self.file = File::from(std::os::fd::OwnedFd::from(writer));
    }
}

impl Place {
    fn is_same(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| identity(&found) == self.file)
    }
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The name of a file that SQLite keeps beside a database.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

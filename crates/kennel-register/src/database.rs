//! The one connection that writes, and when its words reach the disk.
//!
//! # Why a durable commit survives a power cut
//!
//! With `synchronous=NORMAL` SQLite writes a commit to the log without a flush; [`Database::flush`] then
//! flushes the log once, for all commits before it. From there on:
//! - The log's frames carry checksums that build on each other, and salts from its header. After a power
//!   cut SQLite takes every whole transaction up to the first frame that doesn't fit. All frames up to ours
//!   were flushed, header included, so ours is among them. What came after it may be torn, and is dropped.
//! - The file is found again: its folder was flushed after the log was made ([`Database::settle`]), and the
//!   log keeps its name and inode until the last connection closes ([`Wal::check`] looks before each commit).
//! - A checkpoint first flushes the log, copies its pages into the database, flushes that, and only then may
//!   the next commit begin the log anew, from its start and with new salts, which are flushed before any
//!   frame is written. So at each moment either the log or the database has our commit, flushed.
//! - `-shm` is an index that is made again from the log.
//!
//! A flush that *failed* is another matter: the kernel drops what it could not write and says so once. The
//! log then has a hole that later flushes don't know of. So it is not written to again before a checkpoint
//! has emptied it ([`Database::empty_log`]).

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags, Row, Transaction, TransactionBehavior};

use crate::error::{OpenRegisterError, WriteError};
use crate::rows;
use crate::wal::{Moved, Wal};

/// How long somebody else's lock is waited for.
pub(crate) const BUSY: Duration = Duration::from_secs(2);
/// A log that grew by so many pages is emptied in the next quiet moment,
const CHECKPOINT_PAGES: u64 = 1000;
/// or, if there is none, when it grew by so many more.
const CHECKPOINT_LATEST_PAGES: u64 = 1000;
/// Up to here SQLite's index of the log (`-shm`) is one block. It is SQLite's alone, so no room can be set
/// aside for a second one.
const INDEX_PAGES: u64 = 4000;
/// Room in the log that is always there: for events, stops, removals.
const SPARE_PAGES: u64 = 64;
/// Room for what a session has yet to say: its end and the clean-up after it.
const PAGES_A_SESSION: u64 = 18;

/// The connection that writes.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    wal: Wal,
    path: PathBuf,
    /// Pages in the log.
    frames: u64,
    /// Whether all of them are in the database too: then the log begins anew with the next commit.
    copied: bool,
    /// A checkpoint is due when the log has so many.
    due_at: u64,
    /// Whether the log was given the length that it will have anyway.
    filled: bool,
    /// A flush failed: the log may have a hole.
    suspect: bool,
    flushes: Arc<AtomicU64>,
}

/// Whether the log can be written to as it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It can.
    Sound,
    /// A new connection is needed first.
    Renew,
    /// Somebody took the files away, or put others there.
    Replaced(PathBuf),
}

/// Opens a connection that can write, and changes nothing yet.
pub(crate) fn connect(path: &Path) -> Result<Connection, OpenRegisterError> {
    let failed = |error: rusqlite::Error| OpenRegisterError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    // Whatever is found wrong, the files stay as they are.
    checkpoint_on_close(&connection, false)
        .and_then(|()| connection.busy_timeout(BUSY))
        .and_then(|()| connection.pragma_update(None, "trusted_schema", false))
        .and_then(|()| connection.pragma_update(None, "cell_size_check", true))
        .map_err(failed)?;
    // SQLite falls back to reading by itself, and says nothing.
    if connection.is_readonly(MAIN_DB).map_err(failed)? {
        let why = "it is read-only, or on a disk that is".to_owned();
        return Err(OpenRegisterError::Unwritable { path: path.to_owned(), why });
    }
    Ok(connection)
}

fn checkpoint_on_close(connection: &Connection, wanted: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !wanted).map(drop)
}

impl Database {
    /// Makes a connection to a sound register of our version the one that writes.
    pub(crate) fn settle(
        connection: Connection,
        path: &Path,
        home_id: &str,
        flushes: Arc<AtomicU64>,
    ) -> Result<Self, OpenRegisterError> {
        let failed = |error: rusqlite::Error| OpenRegisterError::from_sqlite(path, &error);
        let mode: String = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
            .map_err(failed)?;
        if mode != "wal" {
            let why = format!("no write-ahead log is possible here, only {mode:?}");
            return Err(OpenRegisterError::Other { path: path.to_owned(), why });
        }
        connection
            .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0")
            .and_then(|()| prove_writable(&connection, home_id))
            .map_err(failed)?;
        let failed_io = |error: io::Error| OpenRegisterError::from_io(path, "its log", &error);
        let wal = Wal::open(path).map_err(failed_io)?;
        let mut database = Self {
            connection,
            wal,
            path: path.to_owned(),
            frames: 0,
            copied: false,
            due_at: CHECKPOINT_PAGES,
            filled: false,
            suspect: false,
            flushes,
        };
        database.frames = database.log_state().map_err(failed)?.frames;
        if let Err(error) = database.make_room(0) {
            // What is on record can be looked after without it. New sessions are refused later.
            tracing::warn!(%error, "no room to set aside for the register");
        }
        database.wal.flush().and_then(|()| flush_folder(path)).map_err(failed_io)?;
        checkpoint_on_close(&database.connection, true).map_err(failed)?;
        Ok(database)
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// To be called after each commit: sees what became of the log.
    pub(crate) fn committed(&mut self) {
        let before = self.frames;
        self.copied = false;
        match self.log_state() {
            Ok(log) => self.frames = log.frames,
            Err(error) => tracing::warn!(%error, "can't tell how long the register's log is"),
        }
        if self.frames <= before {
            // It began anew; SQLite flushed its header.
            self.count_flushes(1);
            self.due_at = CHECKPOINT_PAGES;
        }
    }

    /// Puts every commit so far on the disk.
    pub(crate) fn flush(&mut self) -> Result<(), WriteError> {
        self.count_flushes(1);
        self.wal.flush().map_err(|error| {
            self.suspect = true;
            WriteError::NotFlushed { path: self.path.clone(), why: error.to_string() }
        })
    }

    pub(crate) fn standing(&self) -> Standing {
        match self.wal.check() {
            Err(Moved::Replaced(path)) => Standing::Replaced(path),
            Err(Moved::LogRemoved) => Standing::Renew,
            Ok(()) if self.suspect => Standing::Renew,
            Ok(()) => Standing::Sound,
        }
    }

    /// Empties the log into the database; then this connection can go, and a new one be made. Closing it
    /// touches no file: the log's name may be another's by now.
    pub(crate) fn empty_log(&mut self) -> Result<(), WriteError> {
        let emptied = self.checkpoint("TRUNCATE");
        let emptied = emptied.and_then(|()| checkpoint_on_close(&self.connection, false));
        emptied.map_err(|error| WriteError::from_sqlite(&self.path, &error))
    }

    /// Sees to it that so many live sessions can tell their outcome even if the disk fills up.
    pub(crate) fn make_room(&mut self, live: usize) -> Result<(), WriteError> {
        // Many who end at once share pages, and more than the index holds is of no use.
        let pages = (SPARE_PAGES + PAGES_A_SESSION * live as u64).min(INDEX_PAGES);
        if self.frames + pages > INDEX_PAGES && self.frames >= CHECKPOINT_PAGES / 2 && !self.copied
        {
            let emptied = self.checkpoint("PASSIVE");
            emptied.map_err(|error| WriteError::from_sqlite(&self.path, &error))?;
        }
        let used = if self.copied { 0 } else { self.frames };
        let made = self.wal.make_room(used, pages);
        made.map(drop).map_err(|error| WriteError::from_io(&self.path, &error))
    }

    /// Whether there is something for a quiet moment.
    pub(crate) fn has_chores(&self) -> bool {
        !self.filled || self.frames >= self.due_at
    }

    /// Whether it can't wait for one.
    pub(crate) fn is_overdue(&self) -> bool {
        self.frames >= self.due_at + CHECKPOINT_LATEST_PAGES
    }

    /// Does what is due. A failure costs time later, and nothing else.
    pub(crate) fn do_chores(&mut self) {
        if !self.filled {
            self.filled = true;
            // Flushed here, so that the next durable commit need not wait for it.
            let pages = (CHECKPOINT_PAGES + SPARE_PAGES).saturating_sub(self.frames);
            match self.wal.make_room(self.frames, pages) {
                Ok(true) => self.flush().unwrap_or_else(
                    |error| tracing::warn!(%error, "the register's log could not be lengthened"),
                ),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "the register's log could not be lengthened"),
            }
        }
        if self.frames >= self.due_at {
            // Not again with the next commit if it fails.
            self.due_at = self.frames + CHECKPOINT_PAGES;
            if let Err(error) = self.checkpoint("PASSIVE") {
                tracing::warn!(%error, "the register's log could not be emptied");
            }
        }
    }

    /// Ends the connection; the log goes into the database if nobody else has it open.
    pub(crate) fn close(self) -> rusqlite::Result<()> {
        self.connection.close().map_err(|(_, error)| error)
    }

    /// Copies pages from the log into the database, and flushes both.
    fn checkpoint(&mut self, how: &str) -> rusqlite::Result<()> {
        if self.log_state()?.copied < self.frames {
            self.count_flushes(2);
        }
        let sql = format!("PRAGMA wal_checkpoint({how})");
        let (busy, log) = self
            .connection
            .query_row(&sql, [], |row| Ok((row.get::<_, bool>(0)?, LogState::from_row(row)?)))?;
        self.copied = !busy && log.copied == log.frames;
        self.due_at = self.frames + CHECKPOINT_PAGES;
        if busy && how != "PASSIVE" {
            return Err(busy_error());
        }
        Ok(())
    }

    fn log_state(&self) -> rusqlite::Result<LogState> {
        let mut look = self.connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
        look.query_row([], LogState::from_row)
    }

    /// Lets every flush fail from now on, as a broken disk does.
    #[cfg(test)]
    pub(crate) fn break_flushes(&mut self) {
        self.wal.break_flushes();
    }

    fn count_flushes(&self, more: u64) {
        self.flushes.fetch_add(more, Ordering::Relaxed);
    }
}

/// How far the log is.
struct LogState {
    /// Pages in it.
    frames: u64,
    /// Those that are in the database too.
    copied: u64,
}

impl LogState {
    /// From what `wal_checkpoint` answers: busy, pages, copied pages.
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |index| row.get(index).map(|count: i64| u64::try_from(count).unwrap_or(0));
        Ok(Self { frames: count(1)?, copied: count(2)? })
    }
}

/// The first write: it makes the log, and finds locks, full disks and folders that can't be written.
fn prove_writable(connection: &Connection, home_id: &str) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    rows::count_opening(&transaction, home_id)?;
    transaction.commit()
}

fn busy_error() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
}

/// So that a new file is found again under its name after a power cut.
pub(crate) fn flush_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

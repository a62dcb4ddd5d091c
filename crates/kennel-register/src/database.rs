//! The writing connection, and when its commits reach the disk.
//!
//! # Why a durable commit survives a power cut
//!
//! With `synchronous=NORMAL`, SQLite writes a commit to the WAL without a flush;
//! [`Database::flush`] then flushes the WAL once for all commits before it. From there on:
//! - The frames of the WAL have chained checksums, and salts from its header. After a power cut,
//!   SQLite reads every complete transaction up to the first invalid frame. All frames up to ours
//!   were flushed, the header included, so ours is read. Later frames may be torn, and are ignored.
//! - The file keeps its name: its folder was flushed after the WAL was created
//!   ([`Database::prepare`]), and SQLite neither renames nor replaces it until the last connection
//!   closes ([`WalFile::health`] verifies this before each commit).
//! - A checkpoint first flushes the WAL, copies its pages into the database, and flushes the
//!   database. Only then may the next commit restart the WAL, from the start of the file and with
//!   new salts, which are flushed before any frame is written. So at each moment either the WAL or
//!   the database contains our commit, flushed.
//! - `-shm` is an index that SQLite rebuilds from the WAL.
//!
//! After a *failed* flush the kernel discards the pages and reports the error only once, so the WAL
//! may contain a hole that later flushes don't report. It is not written again until a checkpoint
//! has emptied it ([`Database::empty_wal`]).

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
use crate::wal::{WalFile, WalHealth};

/// How long a statement waits for the lock of another process.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// A checkpoint is due when the WAL grew by this many pages; it runs when the thread is idle,
const CHECKPOINT_PAGES: u64 = 1000;
/// or immediately after this many more pages.
const CHECKPOINT_OVERDUE_PAGES: u64 = 1000;
/// Up to this size of the WAL, `-shm` is one block. SQLite alone writes `-shm`, so space for a
/// second block can't be reserved.
const INDEX_PAGES: u64 = 4000;
/// Pages that are always reserved in the WAL: for events, stops, removals.
const SPARE_PAGES: u64 = 64;
/// Pages that are reserved per live session: for its end and its cleanup.
const PAGES_PER_SESSION: u64 = 18;

/// The writing connection.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    wal: WalFile,
    path: PathBuf,
    /// Pages in the WAL.
    frames: u64,
    /// Whether all of them are in the database too, so that the next commit restarts the WAL.
    copied: bool,
    /// A checkpoint is due when the WAL has this many pages.
    checkpoint_at: u64,
    /// Whether the file was extended to the length that it reaches before a checkpoint.
    extended: bool,
    /// Whether a flush failed, so that the WAL may have a hole.
    flush_failed: bool,
    flushes: Arc<AtomicU64>,
}

/// Opens a connection that can write, without changing anything.
pub(crate) fn connect(path: &Path) -> Result<Connection, OpenRegisterError> {
    let failed = |error: rusqlite::Error| OpenRegisterError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    // If the register is refused, its files must stay unchanged.
    checkpoint_on_close(&connection, false)
        .and_then(|()| connection.busy_timeout(BUSY_TIMEOUT))
        .and_then(|()| connection.pragma_update(None, "trusted_schema", false))
        .and_then(|()| connection.pragma_update(None, "cell_size_check", true))
        .map_err(failed)?;
    // SQLite silently falls back to a read-only connection.
    if connection.is_readonly(MAIN_DB).map_err(failed)? {
        let why = "the file or its disk is read-only".to_owned();
        return Err(OpenRegisterError::Unwritable { path: path.to_owned(), why });
    }
    Ok(connection)
}

fn checkpoint_on_close(connection: &Connection, wanted: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !wanted).map(drop)
}

impl Database {
    /// Prepares a connection to a valid register for writing.
    pub(crate) fn prepare(
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
            let why = format!("SQLite can't use a WAL here, only journal mode {mode:?}");
            return Err(OpenRegisterError::Other { path: path.to_owned(), why });
        }
        connection
            .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0")
            .and_then(|()| prove_writable(&connection, home_id))
            .map_err(failed)?;
        let failed_io =
            |error: io::Error| OpenRegisterError::from_io(path, "its -wal file", &error);
        let wal = WalFile::open(path).map_err(failed_io)?;
        let mut database = Self {
            connection,
            wal,
            path: path.to_owned(),
            frames: 0,
            copied: false,
            checkpoint_at: CHECKPOINT_PAGES,
            extended: false,
            flush_failed: false,
            flushes,
        };
        database.frames = database.wal_state().map_err(failed)?.frames;
        if let Err(error) = database.reserve_space(0) {
            // Known sessions can be stopped without it. New sessions will be refused.
            tracing::warn!(%error, "can't reserve disk space for the register");
        }
        database.wal.flush().and_then(|()| flush_folder(path)).map_err(failed_io)?;
        checkpoint_on_close(&database.connection, true).map_err(failed)?;
        Ok(database)
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Updates the state of the WAL. The caller calls this after each commit.
    pub(crate) fn after_commit(&mut self) {
        let before = self.frames;
        self.copied = false;
        match self.wal_state() {
            Ok(wal) => self.frames = wal.frames,
            Err(error) => tracing::warn!(%error, "can't read the length of the register's WAL"),
        }
        if self.frames <= before {
            // SQLite restarted the WAL and flushed its header.
            self.count_flushes(1);
            self.checkpoint_at = CHECKPOINT_PAGES;
        }
    }

    /// Flushes every commit so far to the disk.
    pub(crate) fn flush(&mut self) -> Result<(), WriteError> {
        self.count_flushes(1);
        self.wal.flush().map_err(|error| {
            self.flush_failed = true;
            WriteError::NotFlushed { path: self.path.clone(), why: error.to_string() }
        })
    }

    pub(crate) fn wal_health(&self) -> WalHealth {
        match self.wal.health() {
            WalHealth::Good if self.flush_failed => WalHealth::NeedsReopen,
            health => health,
        }
    }

    /// Checkpoints the WAL into the database, so that the caller can replace this connection.
    /// Closing the connection then changes no file, because another file may have the name of the
    /// WAL.
    pub(crate) fn empty_wal(&mut self) -> Result<(), WriteError> {
        let emptied = self.checkpoint("TRUNCATE");
        let emptied = emptied.and_then(|()| checkpoint_on_close(&self.connection, false));
        emptied.map_err(|error| WriteError::from_sqlite(&self.path, &error))
    }

    /// Reserves space in the WAL, so that this many live sessions can be recorded to their end on a
    /// full disk.
    pub(crate) fn reserve_space(&mut self, live: usize) -> Result<(), WriteError> {
        // Sessions that end together share pages, so the limit of the index is enough for any
        // number.
        let pages = (SPARE_PAGES + PAGES_PER_SESSION * live as u64).min(INDEX_PAGES);
        if self.frames + pages > INDEX_PAGES && self.frames >= CHECKPOINT_PAGES / 2 && !self.copied
        {
            let emptied = self.checkpoint("PASSIVE");
            emptied.map_err(|error| WriteError::from_sqlite(&self.path, &error))?;
        }
        let used = if self.copied { 0 } else { self.frames };
        let reserved = self.wal.reserve(used, pages);
        reserved.map(drop).map_err(|error| WriteError::from_io(&self.path, &error))
    }

    /// Returns whether there is work for an idle moment.
    pub(crate) fn needs_maintenance(&self) -> bool {
        !self.extended || self.frames >= self.checkpoint_at
    }

    /// Returns whether a checkpoint can't wait for an idle moment.
    pub(crate) fn is_checkpoint_overdue(&self) -> bool {
        self.frames >= self.checkpoint_at + CHECKPOINT_OVERDUE_PAGES
    }

    /// Extends the WAL and checkpoints it, if due. A failure only costs time later.
    pub(crate) fn maintain(&mut self) {
        if !self.extended {
            self.extended = true;
            // Flushed here, so that the next durable commit doesn't wait for it.
            let pages = (CHECKPOINT_PAGES + SPARE_PAGES).saturating_sub(self.frames);
            let reserved = self.wal.reserve(self.frames, pages);
            let reserved = reserved.map_err(|error| WriteError::from_io(&self.path, &error));
            let flushed = reserved.and_then(|grew| if grew { self.flush() } else { Ok(()) });
            if let Err(error) = flushed {
                tracing::warn!(%error, "can't extend the register's WAL");
            }
        }
        if self.frames >= self.checkpoint_at {
            // If it fails, the next commit must not retry it.
            self.checkpoint_at = self.frames + CHECKPOINT_PAGES;
            if let Err(error) = self.checkpoint("PASSIVE") {
                tracing::warn!(%error, "can't checkpoint the register's WAL");
            }
        }
    }

    /// Closes the connection. SQLite checkpoints the WAL if this is the last connection.
    pub(crate) fn close(self) -> rusqlite::Result<()> {
        self.connection.close().map_err(|(_, error)| error)
    }

    /// Copies pages from the WAL into the database, and flushes both.
    fn checkpoint(&mut self, mode: &str) -> rusqlite::Result<()> {
        if self.wal_state()?.copied < self.frames {
            self.count_flushes(2);
        }
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        let (busy, wal) = self
            .connection
            .query_row(&sql, [], |row| Ok((row.get::<_, bool>(0)?, WalState::from_row(row)?)))?;
        self.copied = !busy && wal.copied == wal.frames;
        self.checkpoint_at = self.frames + CHECKPOINT_PAGES;
        if busy && mode != "PASSIVE" {
            let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
            return Err(rusqlite::Error::SqliteFailure(busy, None));
        }
        Ok(())
    }

    fn wal_state(&self) -> rusqlite::Result<WalState> {
        let mut state = self.connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
        state.query_row([], WalState::from_row)
    }

    /// Makes every flush fail from now on, as a broken disk does.
    #[cfg(test)]
    pub(crate) fn break_flushes(&mut self) {
        self.wal.break_flushes();
    }

    fn count_flushes(&self, more: u64) {
        self.flushes.fetch_add(more, Ordering::Relaxed);
    }
}

struct WalState {
    /// Pages in the WAL.
    frames: u64,
    /// Pages that are in the database too.
    copied: u64,
}

impl WalState {
    /// Parses the result of `wal_checkpoint`: busy, pages, copied pages.
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |index| row.get(index).map(|count: i64| u64::try_from(count).unwrap_or(0));
        Ok(Self { frames: count(1)?, copied: count(2)? })
    }
}

/// Makes the first write: it creates the WAL, and detects locks, full disks and read-only folders.
fn prove_writable(connection: &Connection, home_id: &str) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    rows::count_opening(&transaction, home_id)?;
    transaction.commit()
}

/// Flushes the folder of a new file, so that its name survives a power cut.
pub(crate) fn flush_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

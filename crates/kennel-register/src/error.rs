//! The errors of the register, with what to do about them.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

use crate::schema::VERSION;

/// The register was not opened. No file was changed or removed.
#[derive(Debug, thiserror::Error)]
pub enum OpenRegisterError {
    #[error(
        "the register {} is damaged: {why}; list and stop its sessions with `kennel rescue`; to start a new register, move it away together with its -wal file",
        path.display()
    )]
    Damaged { path: PathBuf, why: String },
    #[error(
        "the register {} has schema version {version}, but this version of Kennel needs {VERSION}; use the Kennel version that wrote it, or stop its sessions with `kennel rescue` and move the register away",
        path.display()
    )]
    OtherVersion { path: PathBuf, version: i64 },
    #[error(
        "{} is the database of another program; move it away to start a new register; `kennel rescue` works without a register",
        path.display()
    )]
    Foreign { path: PathBuf },
    #[error(
        "the register {} is locked by another process; close the program that uses it (a database browser, a backup; `fuser` shows it) and try again; `kennel rescue` works without the register",
        path.display()
    )]
    Locked { path: PathBuf },
    #[error(
        "the register {} is not writable: {why}; make the file and its folder writable for this user; `kennel rescue` works without the register",
        path.display()
    )]
    Unwritable { path: PathBuf, why: String },
    #[error(
        "{} is not a regular file, so it can't be the register; move it away; `kennel rescue` works without the register",
        path.display()
    )]
    NotAFile { path: PathBuf },
    /// The file is missing or empty, but one of its companion files is not.
    #[error(
        "the register {} is missing or empty, but {} exists and may contain the newest records; restore both together, or move the latter away to start a new register; `kennel rescue` works without the register",
        path.display(), companion.display()
    )]
    Incomplete {
        path: PathBuf,
        /// The file that was found without it.
        companion: PathBuf,
    },
    #[error(
        "the disk is full: can't open the register {} ({why}); free some space and try again; `kennel rescue` works without the register",
        path.display()
    )]
    Full { path: PathBuf, why: String },
    #[error(
        "{} is on a network file system ({kind}), which doesn't support the locks of the register; choose a home on a local disk with --home or KENNEL_HOME",
        folder.display()
    )]
    Network { folder: PathBuf, kind: String },
    #[error(
        "can't open the register {}: {why}; `kennel rescue` works without the register",
        path.display()
    )]
    Other { path: PathBuf, why: String },
}

impl OpenRegisterError {
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        Self::from_category(category_of(error), path, error.to_string())
    }

    pub(crate) fn from_io(path: &Path, what: &str, error: &io::Error) -> Self {
        Self::from_category(category_of_io(error), path, format!("{what}: {error}"))
    }

    fn from_category(category: ErrorCategory, path: &Path, why: String) -> Self {
        let path = path.to_owned();
        match category {
            ErrorCategory::Damaged => Self::Damaged { path, why },
            ErrorCategory::Locked => Self::Locked { path },
            ErrorCategory::Unwritable => Self::Unwritable { path, why },
            ErrorCategory::Full => Self::Full { path, why },
            ErrorCategory::Other => Self::Other { path, why },
        }
    }
}

/// A write failed. The register stays open, and later writes try again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("not recorded: the disk of {} is full ({why}); free some space", path.display())]
    Full { path: PathBuf, why: String },
    #[error(
        "not recorded: {} is not writable ({why}); make the file and its folder writable",
        path.display()
    )]
    Unwritable { path: PathBuf, why: String },
    #[error(
        "not recorded: {} is locked by another process; close the program that uses it (`fuser` shows it)",
        path.display()
    )]
    Locked { path: PathBuf },
    #[error(
        "not recorded: {} is damaged ({why}); stop the daemon and move the file away together with its -wal file",
        path.display()
    )]
    Damaged { path: PathBuf, why: String },
    #[error(
        "not recorded: {} was removed or replaced while in use; restore it, or restart the daemon",
        path.display()
    )]
    Replaced {
        /// The file that is no longer the same.
        path: PathBuf,
    },
    #[error(
        "recorded, but not safe from a power cut: flushing {} failed ({why}); check the disk in the kernel's log",
        path.display()
    )]
    NotFlushed { path: PathBuf, why: String },
    #[error("not recorded: the register is closed; start the daemon again")]
    Closed,
    #[error("not recorded: can't write {} ({why}); see the daemon's log", path.display())]
    Other { path: PathBuf, why: String },
}

impl WriteError {
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        OpenRegisterError::from_sqlite(path, error).into()
    }

    pub(crate) fn from_io(path: &Path, error: &io::Error) -> Self {
        OpenRegisterError::from_category(category_of_io(error), path, error.to_string()).into()
    }
}

impl From<OpenRegisterError> for WriteError {
    fn from(error: OpenRegisterError) -> Self {
        use OpenRegisterError as Open;
        match error {
            Open::Damaged { path, why } => Self::Damaged { path, why },
            Open::Locked { path } => Self::Locked { path },
            Open::Unwritable { path, why } => Self::Unwritable { path, why },
            Open::Full { path, why } => Self::Full { path, why },
            Open::Other { path, why } => Self::Other { path, why },
            Open::OtherVersion { ref path, .. }
            | Open::Foreign { ref path }
            | Open::NotAFile { ref path }
            | Open::Incomplete { ref path, .. }
            | Open::Network { folder: ref path, .. } => {
                Self::Other { path: path.clone(), why: error.to_string() }
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("can't read events from {}: {why}", path.display())]
pub struct ReadError {
    pub path: PathBuf,
    pub why: String,
}

impl ReadError {
    pub(crate) fn new(path: &Path, error: &rusqlite::Error) -> Self {
        Self { path: path.to_owned(), why: error.to_string() }
    }
}

/// The distinctions that both open and write errors make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorCategory {
    Damaged,
    Locked,
    Unwritable,
    Full,
    Other,
}

fn category_of(error: &rusqlite::Error) -> ErrorCategory {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorCategory::Damaged,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorCategory::Locked,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            ErrorCategory::Unwritable
        }
        Some(ErrorCode::DiskFull) => ErrorCategory::Full,
        // SQLite reports a full disk in this way when it can't extend the `-shm` file.
        _ if error.sqlite_error().is_some_and(|it| it.extended_code == SQLITE_IOERR_SHMSIZE) => {
            ErrorCategory::Full
        }
        _ => ErrorCategory::Other,
    }
}

fn category_of_io(error: &io::Error) -> ErrorCategory {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCategory::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ErrorCategory::Unwritable
        }
        _ => ErrorCategory::Other,
    }
}

//! What can go wrong with the register, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The register was not opened. Nothing was changed, and nothing removed.
#[derive(Debug, thiserror::Error)]
pub enum OpenRegisterError {
    /// It is damaged, or no database at all.
    #[error(
        "the register {} is damaged: {why}; `kennel rescue` lists and ends sessions without it; to begin a new one, move it away together with its -wal file",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// A newer program wrote it.
    #[error(
        "the register {} is of version {found}, this program knows versions up to {known}; use the newer program, or `kennel rescue`, which works without the register",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest one that is understood.
        known: i64,
    },
    /// Another program's database.
    #[error(
        "{} is a database of another program; move it away, and a new register is made; `kennel rescue` works without one",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Somebody holds a lock on it.
    #[error(
        "the register {} is locked by another process; close what has it open (a database browser, a backup; `fuser` names it) and try again; `kennel rescue` works without it",
        path.display()
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder can't be written.
    #[error(
        "the register {} can't be written: {why}; make the file and its folder writable for this user; `kennel rescue` works without it",
        path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// Something that is no file has its name.
    #[error(
        "{} is in the place of the register and is no regular file; move it away; `kennel rescue` works without the register",
        path.display()
    )]
    InTheWay {
        /// What is there.
        path: PathBuf,
    },
    /// The file is missing or empty, but what belongs to it is there.
    #[error(
        "the register {} is missing or empty, but {} is there and may have the newest records; put both back together, or move the latter away to begin a new register; `kennel rescue` works without it",
        path.display(), beside.display()
    )]
    Torn {
        /// The file.
        path: PathBuf,
        /// What was found without it.
        beside: PathBuf,
    },
    /// There is no room to make it or to bring it up to date.
    #[error(
        "the disk is full: the register {} can't be opened ({why}); make room there and try again; `kennel rescue` works without it",
        path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// What failed.
        why: String,
    },
    /// The home is on a network file system.
    #[error(
        "{} is on a network file system ({kind}), where locks and the register can't be trusted; choose a home on a local disk with --home or KENNEL_HOME",
        folder.display()
    )]
    Network {
        /// The home.
        folder: PathBuf,
        /// The type of file system.
        kind: String,
    },
    /// Something else.
    #[error(
        "the register {} can't be opened: {why}; `kennel rescue` works without it",
        path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// What failed.
        why: String,
    },
}

impl OpenRegisterError {
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let (path, why) = (path.to_owned(), error.to_string());
        match kind_of(error) {
            Kind::Damaged => Self::Damaged { path, why },
            Kind::Locked => Self::Locked { path },
            Kind::Unwritable => Self::Unwritable { path, why },
            Kind::Full => Self::Full { path, why },
            Kind::Other => Self::Other { path, why },
        }
    }

    pub(crate) fn from_io(path: &Path, what: &str, error: &io::Error) -> Self {
        let (path, why) = (path.to_owned(), format!("{what}: {error}"));
        match kind_of_io(error) {
            Kind::Full => Self::Full { path, why },
            Kind::Unwritable => Self::Unwritable { path, why },
            _ => Self::Other { path, why },
        }
    }
}

/// Something was not put on record. The register goes on, and tries again with what comes next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// There is no room.
    #[error("not recorded: the disk of {} is full ({why}); make room there", path.display())]
    Full {
        /// The register.
        path: PathBuf,
        /// What failed.
        why: String,
    },
    /// It can't be written.
    #[error(
        "not recorded: {} can't be written ({why}); make the file and its folder writable",
        path.display()
    )]
    Unwritable {
        /// The register.
        path: PathBuf,
        /// What failed.
        why: String,
    },
    /// Somebody holds a lock on it.
    #[error(
        "not recorded: {} is locked by another process; close what has it open (`fuser` names it)",
        path.display()
    )]
    Locked {
        /// The register.
        path: PathBuf,
    },
    /// It is damaged.
    #[error(
        "not recorded: {} is damaged ({why}); stop the daemon and move the file away together with its -wal file",
        path.display()
    )]
    Damaged {
        /// The register.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// Another file has its name now, or none.
    #[error(
        "not recorded: {} was removed or replaced while in use; put it back, or restart the daemon",
        path.display()
    )]
    Replaced {
        /// What is no longer the same.
        path: PathBuf,
    },
    /// It is written, but the disk did not take it.
    #[error(
        "recorded, but not safe from a power cut: the disk of {} did not take it ({why}); look at the disk's health in the kernel's log",
        path.display()
    )]
    NotFlushed {
        /// The register.
        path: PathBuf,
        /// What failed.
        why: String,
    },
    /// The register is closed.
    #[error("not recorded: the register is closed; start the daemon again")]
    Closed,
    /// Something else.
    #[error("not recorded: writing {} failed ({why}); see the daemon's log", path.display())]
    Other {
        /// The register.
        path: PathBuf,
        /// What failed.
        why: String,
    },
}

impl WriteError {
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        Self::of_kind(kind_of(error), path, error.to_string())
    }

    pub(crate) fn from_io(path: &Path, error: &io::Error) -> Self {
        Self::of_kind(kind_of_io(error), path, error.to_string())
    }

    pub(crate) fn from_open(path: &Path, error: &OpenRegisterError) -> Self {
        let kind = match error {
            OpenRegisterError::Damaged { .. } => Kind::Damaged,
            OpenRegisterError::Locked { .. } => Kind::Locked,
            OpenRegisterError::Unwritable { .. } => Kind::Unwritable,
            OpenRegisterError::Full { .. } => Kind::Full,
            _ => Kind::Other,
        };
        let why = match error {
            OpenRegisterError::Damaged { why, .. }
            | OpenRegisterError::Unwritable { why, .. }
            | OpenRegisterError::Full { why, .. }
            | OpenRegisterError::Other { why, .. } => why.clone(),
            other => other.to_string(),
        };
        Self::of_kind(kind, path, why)
    }

    fn of_kind(kind: Kind, path: &Path, why: String) -> Self {
        let path = path.to_owned();
        match kind {
            Kind::Full => Self::Full { path, why },
            Kind::Unwritable => Self::Unwritable { path, why },
            Kind::Locked => Self::Locked { path },
            Kind::Damaged => Self::Damaged { path, why },
            Kind::Other => Self::Other { path, why },
        }
    }
}

/// Events could not be read.
#[derive(Debug, thiserror::Error)]
#[error("can't read events from {}: {why}", path.display())]
pub struct ReadError {
    /// The register.
    pub path: PathBuf,
    /// What failed.
    pub why: String,
}

impl ReadError {
    pub(crate) fn new(path: &Path, error: &rusqlite::Error) -> Self {
        Self { path: path.to_owned(), why: error.to_string() }
    }
}

/// What both kinds of error are sorted into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Damaged,
    Locked,
    Unwritable,
    Full,
    Other,
}

fn kind_of(error: &rusqlite::Error) -> Kind {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Kind::Damaged,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Kind::Locked,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            Kind::Unwritable
        }
        Some(ErrorCode::DiskFull) => Kind::Full,
        // The index of the log could not be made: SQLite has no better word for "no room" here.
        _ if extended_code(error) == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Kind::Full,
        _ => Kind::Other,
    }
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

fn kind_of_io(error: &io::Error) -> Kind {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Kind::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Kind::Unwritable,
        _ => Kind::Other,
    }
}

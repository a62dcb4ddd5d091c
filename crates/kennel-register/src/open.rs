//! Opens a register, creates it if it is missing, and refuses it if anything is wrong with it.
//!
//! ```text
//! missing or empty ── draft file ── renamed into place ──┐
//! present ───────────────────────────────────────────────┴─ connect ── program, version, integrity
//!                                                              │       └─ wrong: refused unchanged
//!   full disk: read only, until a write finds free space ──────┴─ first write ── sessions
//! ```

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use kennel_core::Member;
use rusqlite::Connection;

use crate::database::{Database, connect, flush_folder};
use crate::error::{OpenRegisterError, WriteError};
use crate::record::{PlanRecord, SessionRecord};
use crate::rows::{self, LoadError};
use crate::schema::{self, SchemaState};
use crate::wal::companion_path;

/// SQLite's files next to a database that may contain records.
const COMPANIONS: [&str; 2] = ["-wal", "-journal"];
/// The suffixes of all files of a database.
const ALL_FILES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

#[derive(Debug)]
pub(crate) struct OpenDatabase {
    /// The writing connection, or why it could not be opened.
    pub(crate) database: Result<Database, WriteError>,
    pub(crate) contents: RegisterContents,
}

#[derive(Debug)]
pub(crate) struct RegisterContents {
    pub(crate) sessions: Vec<SessionRecord>,
    pub(crate) members: Vec<Member>,
    pub(crate) plans: Vec<PlanRecord>,
    pub(crate) other_home: bool,
    pub(crate) last_seq: u64,
}

/// Resolves symbolic links: SQLite derives the names of its other files from the resolved path.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, OpenRegisterError> {
    let failed = |error: io::Error| OpenRegisterError::from_io(path, "its folder", &error);
    let not_a_file = || OpenRegisterError::NotAFile { path: path.to_owned() };
    if fs::symlink_metadata(path).is_ok() {
        return path.canonicalize().map_err(|_| not_a_file());
    }
    let name = path.file_name().ok_or_else(not_a_file)?;
    let path = std::path::absolute(path).map_err(failed)?;
    let folder = path.parent().unwrap_or(Path::new("/")).canonicalize().map_err(failed)?;
    Ok(folder.join(name))
}

/// Opens the register at a resolved path.
pub(crate) fn open(
    path: &Path,
    home_id: &str,
    flushes: &Arc<AtomicU64>,
) -> Result<OpenDatabase, OpenRegisterError> {
    if is_missing(path)? {
        create(path, home_id)?;
    }
    make_private(path)?;
    match open_writable(path, home_id, flushes) {
        Err(full @ OpenRegisterError::Full { .. }) => open_on_full_disk(path, home_id, full),
        other => other,
    }
}

/// Opens a new connection to a register that was open before.
pub(crate) fn reopen(
    path: &Path,
    home_id: &str,
    flushes: &Arc<AtomicU64>,
) -> Result<Database, WriteError> {
    let connection = connect(path)?;
    if is_blank(path, &connection)? {
        // Another file has taken the register's name.
        return Err(OpenRegisterError::Foreign { path: path.to_owned() }.into());
    }
    Ok(Database::prepare(connection, path, home_id, Arc::clone(flushes))?)
}

fn open_writable(
    path: &Path,
    home_id: &str,
    flushes: &Arc<AtomicU64>,
) -> Result<OpenDatabase, OpenRegisterError> {
    let failed = |error: rusqlite::Error| OpenRegisterError::from_sqlite(path, &error);
    let mut connection = connect(path)?;
    let blank = is_blank(path, &connection)?;
    quick_check(path, &connection)?;
    if blank {
        schema::create(&mut connection).map_err(failed)?;
    }
    let contents = load(path, &connection, home_id)?;
    let database = Database::prepare(connection, path, home_id, Arc::clone(flushes))?;
    Ok(OpenDatabase { database: Ok(database), contents })
}

/// Loads what is on record without writing, so that the daemon can still stop the sessions. An
/// exclusive connection needs no `-shm` file; it is closed immediately.
fn open_on_full_disk(
    path: &Path,
    home_id: &str,
    full: OpenRegisterError,
) -> Result<OpenDatabase, OpenRegisterError> {
    let connection = connect(path)?;
    let exclusive =
        connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()));
    exclusive.map_err(|error| OpenRegisterError::from_sqlite(path, &error))?;
    if is_blank(path, &connection)? {
        return Err(full);
    }
    quick_check(path, &connection)?;
    let contents = load(path, &connection, home_id)?;
    Ok(OpenDatabase { database: Err(full.into()), contents })
}

/// Returns whether the database has no tables yet, and refuses other versions and other programs.
fn is_blank(path: &Path, connection: &Connection) -> Result<bool, OpenRegisterError> {
    let state = schema::inspect(connection);
    match state.map_err(|error| OpenRegisterError::from_sqlite(path, &error))? {
        SchemaState::Blank => Ok(true),
        SchemaState::Register { version: schema::VERSION } => Ok(false),
        SchemaState::Register { version } => {
            Err(OpenRegisterError::OtherVersion { path: path.to_owned(), version })
        }
        SchemaState::Foreign => Err(OpenRegisterError::Foreign { path: path.to_owned() }),
    }
}

fn quick_check(path: &Path, connection: &Connection) -> Result<(), OpenRegisterError> {
    let answer: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| OpenRegisterError::from_sqlite(path, &error))?;
    if answer == "ok" {
        return Ok(());
    }
    let why = answer.lines().collect::<Vec<_>>().join(" ");
    Err(OpenRegisterError::Damaged { path: path.to_owned(), why })
}

fn load(
    path: &Path,
    connection: &Connection,
    home_id: &str,
) -> Result<RegisterContents, OpenRegisterError> {
    let failed = |error: rusqlite::Error| OpenRegisterError::from_sqlite(path, &error);
    let unreadable = |error: LoadError| match error {
        LoadError::Sqlite(error) => failed(error),
        // The session may be running, so a daemon that doesn't know it must not start.
        unreadable => {
            OpenRegisterError::Damaged { path: path.to_owned(), why: unreadable.to_string() }
        }
    };
    let home = rows::home(connection).map_err(failed)?;
    Ok(RegisterContents {
        sessions: rows::sessions(connection).map_err(unreadable)?,
        members: rows::members(connection).map_err(unreadable)?,
        plans: rows::plans(connection).map_err(unreadable)?,
        other_home: home.is_some_and(|home| home != home_id),
        last_seq: rows::last_seq(connection).map_err(failed)?,
    })
}

/// Returns whether the file is missing or empty.
fn is_missing(path: &Path) -> Result<bool, OpenRegisterError> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            return Err(OpenRegisterError::NotAFile { path: path.to_owned() });
        }
        Ok(found) if found.len() > 0 => return Ok(false),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(OpenRegisterError::from_io(path, "stat", &error));
        }
        _ => {}
    }
    // SQLite would delete these files together with the records in them.
    for suffix in COMPANIONS {
        let companion = companion_path(path, suffix);
        if fs::metadata(&companion).is_ok_and(|found| found.len() > 0) {
            return Err(OpenRegisterError::Incomplete { path: path.to_owned(), companion });
        }
    }
    Ok(true)
}

/// Creates a register under a temporary name and renames it when it is complete: a crash leaves
/// either no register or a complete one.
fn create(path: &Path, home_id: &str) -> Result<(), OpenRegisterError> {
    let draft = companion_path(path, ".new");
    let failed = |error: io::Error| OpenRegisterError::from_io(path, "creating it", &error);
    let create = || {
        remove_draft(&draft).map_err(failed)?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&draft).map_err(failed)?;
        fill(&draft, home_id).map_err(|error| OpenRegisterError::from_sqlite(path, &error))?;
        file.sync_all()
            .and_then(|()| fs::rename(&draft, path))
            .and_then(|()| flush_folder(path))
            .map_err(failed)
    };
    // The first error is the one to report.
    create().inspect_err(|_| drop(remove_draft(&draft)))
}

/// Fills the draft. It needs neither a journal nor a flush before the one at the end.
fn fill(draft: &Path, home_id: &str) -> rusqlite::Result<()> {
    let mut connection = Connection::open(draft)?;
    let settings = format!(
        "PRAGMA page_size = {}; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY",
        crate::PAGE_BYTES
    );
    connection.execute_batch(&settings)?;
    schema::create(&mut connection)?;
    rows::count_opening(&connection, home_id)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.close().map_err(|(_, error)| error)
}

fn remove_draft(draft: &Path) -> io::Result<()> {
    for suffix in ALL_FILES {
        match fs::remove_file(companion_path(draft, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Makes the files private, because they contain tokens. Changes the mode by path: closing a
/// descriptor would release SQLite's locks.
fn make_private(path: &Path) -> Result<(), OpenRegisterError> {
    for suffix in ALL_FILES {
        let file = companion_path(path, suffix);
        let Ok(found) = fs::metadata(&file) else { continue };
        if found.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(&file, Permissions::from_mode(0o600))
                .map_err(|error| OpenRegisterError::from_io(path, "chmod", &error))?;
        }
    }
    Ok(())
}

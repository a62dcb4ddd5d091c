//! Opening a register: made if it isn't there, refused if anything is wrong with it.
//!
//! ```text
//! missing, empty ── draft beside it ── renamed into place ──┐
//! there ────────────────────────────────────────────────────┴─ connect ── whose? which version? sound?
//!                                                                 │            └─ no: refused, untouched
//!   full disk: only read, and nothing written until there is room ┴─ migrate ── first write ── sessions
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
use crate::entry::{PlanRecord, Stored};
use crate::error::{OpenRegisterError, WriteError};
use crate::rows::{self, LoadError};
use crate::schema::{self, Found};
use crate::wal::beside;

/// What SQLite keeps beside a database, with records in them.
const COMPANIONS: [&str; 2] = ["-wal", "-journal"];

/// A register that was opened.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The connection that writes, or why there is none.
    pub(crate) database: Result<Database, WriteError>,
    pub(crate) contents: Contents,
}

/// What was in it.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) sessions: Vec<Stored>,
    pub(crate) members: Vec<Member>,
    pub(crate) plans: Vec<PlanRecord>,
    pub(crate) other_home: bool,
    pub(crate) last_seq: u64,
}

/// The path without links: SQLite names the files beside it by that.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, OpenRegisterError> {
    let failed = |error: io::Error| OpenRegisterError::from_io(path, "its folder", &error);
    let in_the_way = || OpenRegisterError::InTheWay { path: path.to_owned() };
    if fs::symlink_metadata(path).is_ok() {
        return path.canonicalize().map_err(|_| in_the_way());
    }
    let name = path.file_name().ok_or_else(in_the_way)?;
    let path = std::path::absolute(path).map_err(failed)?;
    let folder = path.parent().unwrap_or(Path::new("/")).canonicalize().map_err(failed)?;
    Ok(folder.join(name))
}

/// Opens the register at this resolved path.
pub(crate) fn open(
    path: &Path,
    home_id: &str,
    flushes: &Arc<AtomicU64>,
) -> Result<Ready, OpenRegisterError> {
    if is_missing(path)? {
        make(path, home_id)?;
    }
    make_private(path)?;
    match open_whole(path, home_id, flushes) {
        Err(full @ OpenRegisterError::Full { .. }) => open_without_room(path, home_id, full),
        other => other,
    }
}

/// A new connection to a register that was open before.
pub(crate) fn reopen(
    path: &Path,
    home_id: &str,
    flushes: &Arc<AtomicU64>,
) -> Result<Database, WriteError> {
    let opened = connect(path).and_then(|connection| {
        match version(path, &connection)? {
            found if found == schema::newest() => {}
            // The file is not the one that we knew.
            _ => return Err(OpenRegisterError::Foreign { path: path.to_owned() }),
        }
        Database::settle(connection, path, home_id, Arc::clone(flushes))
    });
    opened.map_err(|error| WriteError::from_open(path, &error))
}

fn open_whole(
    path: &Path,
    home_id: &str,
    flushes: &Arc<AtomicU64>,
) -> Result<Ready, OpenRegisterError> {
    let failed = |error: rusqlite::Error| OpenRegisterError::from_sqlite(path, &error);
    let mut connection = connect(path)?;
    let found = version(path, &connection)?;
    quick_check(path, &connection)?;
    schema::migrate(&mut connection, found, schema::STEPS).map_err(failed)?;
    let contents = load(path, &connection, home_id)?;
    let database = Database::settle(connection, path, home_id, Arc::clone(flushes))?;
    Ok(Ready { database: Ok(database), contents })
}

/// What is on record can be looked after even if there is no room for more. An exclusive connection needs
/// no file for the index of the log, and this one is closed again at once.
fn open_without_room(
    path: &Path,
    home_id: &str,
    full: OpenRegisterError,
) -> Result<Ready, OpenRegisterError> {
    let connection = connect(path)?;
    let exclusive =
        connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()));
    exclusive.map_err(|error| OpenRegisterError::from_sqlite(path, &error))?;
    if version(path, &connection)? != schema::newest() {
        return Err(full);
    }
    quick_check(path, &connection)?;
    let contents = load(path, &connection, home_id)?;
    Ok(Ready { database: Err(WriteError::from_open(path, &full)), contents })
}

/// The version of the register's tables: 0 if there are none yet.
fn version(path: &Path, connection: &Connection) -> Result<i64, OpenRegisterError> {
    let found = schema::look(connection);
    match found.map_err(|error| OpenRegisterError::from_sqlite(path, &error))? {
        Found::Blank => Ok(0),
        Found::Register { version } if version <= schema::newest() => Ok(version),
        Found::Register { version } => Err(OpenRegisterError::Newer {
            path: path.to_owned(),
            found: version,
            known: schema::newest(),
        }),
        Found::Foreign => Err(OpenRegisterError::Foreign { path: path.to_owned() }),
    }
}

fn quick_check(path: &Path, connection: &Connection) -> Result<(), OpenRegisterError> {
    let said: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| OpenRegisterError::from_sqlite(path, &error))?;
    if said == "ok" {
        return Ok(());
    }
    let why = said.lines().collect::<Vec<_>>().join(" ");
    Err(OpenRegisterError::Damaged { path: path.to_owned(), why })
}

fn load(
    path: &Path,
    connection: &Connection,
    home_id: &str,
) -> Result<Contents, OpenRegisterError> {
    let failed = |error: rusqlite::Error| OpenRegisterError::from_sqlite(path, &error);
    let unreadable = |error: LoadError| match error {
        LoadError::Sqlite(error) => failed(error),
        // A session that we can't read may be alive: better no daemon than one that doesn't know of it.
        unreadable => {
            OpenRegisterError::Damaged { path: path.to_owned(), why: unreadable.to_string() }
        }
    };
    let sessions = rows::sessions(connection).map_err(unreadable)?;
    let members = rows::members(connection).map_err(unreadable)?;
    let plans = rows::plans(connection).map_err(unreadable)?;
    let home = rows::home(connection).map_err(failed)?;
    let other_home = home.is_some_and(|home| home != home_id);
    Ok(Contents {
        sessions,
        members,
        plans,
        other_home,
        last_seq: rows::last_seq(connection).map_err(failed)?,
    })
}

/// Whether there is nothing here, or an empty file.
fn is_missing(path: &Path) -> Result<bool, OpenRegisterError> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            return Err(OpenRegisterError::InTheWay { path: path.to_owned() });
        }
        Ok(found) if found.len() > 0 => return Ok(false),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(OpenRegisterError::from_io(path, "a look at it", &error));
        }
        _ => {}
    }
    // SQLite would throw these away.
    for suffix in COMPANIONS {
        let beside = beside(path, suffix);
        if fs::metadata(&beside).is_ok_and(|found| found.len() > 0) {
            return Err(OpenRegisterError::Torn { path: path.to_owned(), beside });
        }
    }
    Ok(true)
}

/// Makes a new register under another name and gives it its own when it is whole: a crash leaves either
/// none or a good one.
fn make(path: &Path, home_id: &str) -> Result<(), OpenRegisterError> {
    let draft = beside(path, ".new");
    let made = remove_draft(&draft)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft))
        .map_err(|error| OpenRegisterError::from_io(path, "a new file", &error))
        .and_then(|file| {
            fill(&draft, home_id)
                .map_err(|error| OpenRegisterError::from_sqlite(path, &error))
                .map(|()| file)
        })
        .and_then(|file| {
            file.sync_all()
                .and_then(|()| fs::rename(&draft, path))
                .and_then(|()| flush_folder(path))
                .map_err(|error| OpenRegisterError::from_io(path, "a new file", &error))
        });
    if made.is_err() {
        // The error that counts is the first one.
        remove_draft(&draft).ok();
    }
    made
}

/// Nobody knows of the draft yet, so nothing needs a journal or a flush before the one at the end.
fn fill(draft: &Path, home_id: &str) -> rusqlite::Result<()> {
    let mut connection = Connection::open(draft)?;
    let settings = format!(
        "PRAGMA page_size = {}; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY",
        crate::PAGE_BYTES
    );
    connection.execute_batch(&settings)?;
    schema::migrate(&mut connection, 0, schema::STEPS)?;
    rows::count_opening(&connection, home_id)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.close().map_err(|(_, error)| error)
}

fn remove_draft(draft: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(beside(draft, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Tokens are in it: nobody else may read it. By name, since closing a handle would drop SQLite's locks.
fn make_private(path: &Path) -> Result<(), OpenRegisterError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let file = beside(path, suffix);
        let Ok(found) = fs::metadata(&file) else { continue };
        if found.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(&file, Permissions::from_mode(0o600))
                .map_err(|error| OpenRegisterError::from_io(path, "its mode", &error))?;
        }
    }
    Ok(())
}

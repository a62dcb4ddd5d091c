//! The tables.
//!
//! The JSON form of a session, a member and a plan is part of the schema: a new field that older
//! versions can't ignore, or a new value that they can't parse, needs a new version.

use rusqlite::{Connection, TransactionBehavior};

/// "Kenl" in ASCII: marks a database as a register, for us and for `file`.
const APPLICATION_ID: i64 = 0x4b65_6e6c;

/// The version that this program reads and writes.
pub(crate) const VERSION: i64 = 1;

/// Events don't reference sessions, because they outlive them. `AUTOINCREMENT` never reuses a
/// sequence number, even if the newest events were deleted.
const TABLES: &str = "
    CREATE TABLE home (
        only    INTEGER PRIMARY KEY CHECK (only = 1),
        id      TEXT NOT NULL,
        opened  INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE sessions (
        number      INTEGER PRIMARY KEY,
        id          TEXT NOT NULL UNIQUE,
        name        TEXT,
        phase       TEXT NOT NULL,
        wanted      TEXT NOT NULL,
        created_ms  INTEGER NOT NULL,
        started_ms  INTEGER,
        ended_ms    INTEGER,
        session     TEXT NOT NULL,
        started_by  TEXT NOT NULL
    ) STRICT;

    CREATE TABLE events (
        seq      INTEGER PRIMARY KEY AUTOINCREMENT,
        time_ms  INTEGER NOT NULL,
        session  TEXT,
        kind     TEXT NOT NULL,
        cause    TEXT NOT NULL,
        asked_by TEXT
    ) STRICT;

    CREATE INDEX events_of_session ON events (session, seq) WHERE session IS NOT NULL;

    CREATE TABLE members (
        name    TEXT PRIMARY KEY,
        member  TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE plans (
        id    TEXT PRIMARY KEY,
        plan  TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// The contents of a database, according to its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaState {
    /// A database without tables.
    Blank,
    Register {
        version: i64,
    },
    /// The database of another program.
    Foreign,
}

/// Reads the header and the table list. This is the first read, so it also detects a damaged
/// header.
pub(crate) fn inspect(connection: &Connection) -> rusqlite::Result<SchemaState> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    Ok(match (application, version, tables) {
        (APPLICATION_ID, version, _) if version > 0 => SchemaState::Register { version },
        (0, 0, 0) => SchemaState::Blank,
        _ => SchemaState::Foreign,
    })
}

/// Creates the tables in a blank database, in one transaction.
pub(crate) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_blank_foreign_and_register_databases() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert_eq!(inspect(&connection).unwrap(), SchemaState::Blank);
        create(&mut connection).unwrap();
        assert_eq!(inspect(&connection).unwrap(), SchemaState::Register { version: VERSION });
        let tables = Connection::open_in_memory().unwrap();
        tables.execute_batch("CREATE TABLE other (x)").unwrap();
        assert_eq!(inspect(&tables).unwrap(), SchemaState::Foreign);
        let marked = Connection::open_in_memory().unwrap();
        marked.pragma_update(None, "application_id", 7).unwrap();
        assert_eq!(inspect(&marked).unwrap(), SchemaState::Foreign);
    }
}

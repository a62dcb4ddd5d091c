//! The tables, and how an older file gets there.
//!
//! A step is never changed once it has been released: what must change comes as a new step at the end.
//! The form of a session's JSON counts as schema too: a field that an older program can't do without, or
//! a value that it can't read, needs a new version.

use rusqlite::{Connection, TransactionBehavior};

/// "Kenl": tells `file` and us that a database is a register.
pub(crate) const APPLICATION_ID: i64 = 0x4b65_6e6c;

/// The step at index n leads from version n to n + 1.
pub(crate) const STEPS: &[&str] = &[VERSION_1, VERSION_2, VERSION_3];

/// Events have no reference to sessions: they outlive them. `AUTOINCREMENT`, so that a number is never
/// given twice, even if the newest events were dropped.
const VERSION_1: &str = "
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
        session     TEXT NOT NULL
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
";

/// A program that does not know of sessions which a user started would take them for its own, and end them: so it must
/// not read such a file.
const VERSION_2: &str = "ALTER TABLE sessions ADD COLUMN started_by TEXT NOT NULL DEFAULT 'kennel'";

/// A program that does not know of prompts would neither judge them nor try them again, and forget whose they are.
const VERSION_3: &str = "
    CREATE TABLE members (
        name    TEXT PRIMARY KEY,
        member  TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE plans (
        id    TEXT PRIMARY KEY,
        plan  TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
";

/// What a file says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A database with nothing in it.
    Blank,
    /// A register of this version.
    Register {
        /// The version.
        version: i64,
    },
    /// Another program's.
    Foreign,
}

/// Looks at a database; the first read of it, so damage to its head shows here.
pub(crate) fn look(connection: &Connection) -> rusqlite::Result<Found> {
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version, tables) {
        (APPLICATION_ID, version, _) if version > 0 => Found::Register { version },
        (0, 0, 0) => Found::Blank,
        _ => Found::Foreign,
    })
}

/// Brings a file of this version up to the last of these steps, each in a transaction of its own: a step
/// that fails leaves the file at the version before it.
pub(crate) fn migrate(
    connection: &mut Connection,
    from: i64,
    steps: &[&str],
) -> rusqlite::Result<()> {
    let done = usize::try_from(from).unwrap_or(0);
    for (index, step) in steps.iter().enumerate().skip(done) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", index as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

/// The version that this program writes.
pub(crate) fn newest() -> i64 {
    STEPS.len() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: &str = "ALTER TABLE sessions ADD COLUMN colour TEXT";

    fn register(steps: &[&str]) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 0, steps).unwrap();
        connection
    }

    #[test]
    fn every_version_can_be_brought_up_to_the_newest() {
        for from in 0..=STEPS.len() {
            let mut connection = register(&STEPS[..from]);
            migrate(&mut connection, from as i64, STEPS).unwrap();
            assert_eq!(look(&connection).unwrap(), Found::Register { version: newest() });
        }
    }

    #[test]
    fn only_the_missing_steps_are_taken() {
        let mut connection = register(&[VERSION_1]);
        connection.execute("INSERT INTO home VALUES (1, 'abc', 0)", []).unwrap();
        migrate(&mut connection, 1, &[VERSION_1, LATER]).unwrap();
        assert_eq!(look(&connection).unwrap(), Found::Register { version: 2 });
        connection.prepare("SELECT colour FROM sessions").unwrap();
        let home: String =
            connection.query_row("SELECT id FROM home", [], |row| row.get(0)).unwrap();
        assert_eq!(home, "abc");
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_before_it() {
        let mut connection = register(&[VERSION_1]);
        let broken = "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1)";
        migrate(&mut connection, 1, &[VERSION_1, LATER, broken]).unwrap_err();
        assert_eq!(look(&connection).unwrap(), Found::Register { version: 2 });
        connection.prepare("SELECT * FROM half").unwrap_err();
    }

    #[test]
    fn others_are_told_apart() {
        let connection = Connection::open_in_memory().unwrap();
        assert_eq!(look(&connection).unwrap(), Found::Blank);
        connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
        assert_eq!(look(&connection).unwrap(), Found::Foreign);
        let marked = Connection::open_in_memory().unwrap();
        marked.pragma_update(None, "application_id", 7).unwrap();
        assert_eq!(look(&marked).unwrap(), Found::Foreign);
    }
}

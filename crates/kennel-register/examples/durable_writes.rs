//! Measures the two durable writes of a session: in the register, which flushes the WAL itself, and
//! in a database with simpler tables that leaves the flushes to SQLite (`synchronous=FULL`).
//!
//! `cargo run --profile dist -p kennel-register --example durable_writes`

use std::path::Path;
use std::time::{Duration, Instant};

use kennel_core::Session;
use kennel_register::{Durability, NewEvent, Register, SessionRecord, SessionTimes};
use kennel_types::{IdMaker, LaunchToken, Phase};
use rusqlite::{Connection, params};

const SESSIONS: u32 = 500;

fn main() {
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let register = Register::open(&folder.path().join("register.db"), "home").expect("opened");
    let full = open_full(&folder.path().join("full.db"));
    // By turns, so that other load on the disk affects both.
    let times: Vec<_> = (0..SESSIONS)
        .map(|number| (time_register(&register.register, number), time_full(&full, number)))
        .collect();
    println!("median time of a session's two durable writes, of {SESSIONS} sessions");
    println!("  the register:                 {:?}", median(times.iter().map(|time| time.0)));
    println!("  SQLite with synchronous=FULL: {:?}", median(times.iter().map(|time| time.1)));
    register.register.close();
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns the record of a session when it is reserved, or when it has ended.
fn record(number: u32, phase: Phase) -> SessionRecord {
    let id = IdMaker::default().next(1_780_000_000_000 + u64::from(number), number);
    let text = include_str!("../tests/register/session.json")
        .replace("\"ID\"", &format!("\"{id}\""))
        .replace("TOKEN", LaunchToken::new(u128::from(number)).secret());
    let mut session: Session = serde_json::from_str(&text).expect("a valid session");
    session.phase = phase;
    SessionRecord { session, times: SessionTimes::default() }
}

fn event(kind: &str) -> NewEvent {
    let (kind, cause) = (kind.to_owned(), "benchmark".to_owned());
    NewEvent { time_ms: 0, session: None, kind, cause, by: None }
}

fn records(number: u32) -> [SessionRecord; 2] {
    [record(number, Phase::Reserved), record(number, Phase::Cleaned)]
}

fn time_register(register: &Register, number: u32) -> Duration {
    let records = records(number);
    let begun = Instant::now();
    for record in records {
        let saved = register.save(record, vec![event("saved")], Durability::Durable);
        saved.blocking_recv().expect("a reply").expect("recorded");
    }
    begun.elapsed()
}

fn open_full(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("opened");
    connection
        .execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = FULL;
             CREATE TABLE sessions (id TEXT PRIMARY KEY, session TEXT NOT NULL);
             CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, cause TEXT)",
        )
        .expect("a database");
    connection
}

fn time_full(connection: &Connection, number: u32) -> Duration {
    let records = records(number);
    let begun = Instant::now();
    for record in records {
        let json = serde_json::to_string(&record.session).expect("serialized");
        connection.execute_batch("BEGIN IMMEDIATE").expect("begun");
        connection
            .prepare_cached("INSERT OR REPLACE INTO sessions VALUES (?1, ?2)")
            .and_then(|mut save| save.execute(params![record.session.id.as_str(), json]))
            .expect("saved");
        connection
            .prepare_cached("INSERT INTO events (kind, cause) VALUES ('saved', 'benchmark')")
            .and_then(|mut save| save.execute([]))
            .expect("saved");
        connection.execute_batch("COMMIT").expect("committed");
    }
    begun.elapsed()
}

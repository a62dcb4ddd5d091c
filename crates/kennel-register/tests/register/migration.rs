//! Registers of former versions, as they were made then.

use kennel_core::{Phase, StartedBy};
use kennel_register::Durability;
use rusqlite::{Connection, params};

use crate::scene::{HOME, NOW, Scene, all_events, event, id, session_json, stored, wait};

/// Version 1, written down here once and for all.
const VERSION_1: &str = "
    PRAGMA application_id = 1264938604;
    PRAGMA user_version = 1;
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

fn version_1(scene: &Scene) {
    let database = Connection::open(scene.path()).unwrap();
    database.execute_batch(VERSION_1).unwrap();
    database.execute("INSERT INTO home VALUES (1, ?1, 3)", [HOME]).unwrap();
    let created = (NOW + 1000) as i64;
    database
        .execute(
            "INSERT INTO sessions VALUES (1, ?1, 'session-1', 'running', 'running', ?2, ?3, NULL, ?4)",
            params![
                id(1).as_str(),
                created,
                created + 5,
                session_json(1)
            ],
        )
        .unwrap();
    database
        .execute(
            "INSERT INTO events VALUES (41, 1780000000000, ?1, 'running', 'a test', 'me')",
            [id(1).as_str()],
        )
        .unwrap();
}

#[test]
fn a_register_of_version_1_is_read_and_goes_on() {
    let scene = Scene::new();
    version_1(&scene);
    let opened = scene.open();
    assert_eq!(opened.sessions, [stored(1, Phase::Running)]);
    assert_eq!((opened.other_home, opened.last_seq), (false, 41));
    let register = opened.register;
    let saved = register.save(stored(1, Phase::Cleaned), vec![event("x")], Durability::Durable);
    assert_eq!(wait(saved), Ok(vec![42]));
    let by: Vec<_> = register.events(all_events()).unwrap().into_iter().map(|e| e.by).collect();
    assert_eq!(by, [Some("me".to_owned()), None]);
    register.close();
    assert_eq!(scene.open().sessions, [stored(1, Phase::Cleaned)]);
    assert_eq!(started_by(&scene), ["kennel"]);
}

fn started_by(scene: &Scene) -> Vec<String> {
    let database = Connection::open(scene.path()).unwrap();
    let mut statement = database.prepare("SELECT started_by FROM sessions ORDER BY id").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// A program that takes every session for its own must not read this.
#[test]
fn who_started_a_session_is_on_record_and_older_programs_keep_off() {
    let scene = Scene::new();
    version_1(&scene);
    let register = scene.open().register;
    let mut own = stored(2, Phase::Running);
    own.session.started_by = StartedBy::Terminal;
    wait(register.save(own.clone(), Vec::new(), Durability::Durable)).unwrap();
    register.close();
    assert_eq!(scene.open().sessions, [stored(1, Phase::Running), own]);
    assert_eq!(started_by(&scene), ["kennel", "terminal"]);
    let database = Connection::open(scene.path()).unwrap();
    let version = database.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    assert!(version.unwrap() >= 2, "version 1 refuses what is newer");
}

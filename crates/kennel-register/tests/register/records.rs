//! Saved records are read back, in order.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use kennel_core::DesiredState;
use kennel_register::{Durability, EventQuery, Register, WriteError};
use kennel_types::{Exit, Owed, OwedKind, Phase, Reason, Survivor};

use crate::scene::{HOME, NOW, Scene, all_events, event, event_of, id, stored, token, wait};

#[test]
fn a_new_register_is_empty_and_private() {
    let scene = Scene::new();
    let opened = scene.open();
    assert!(opened.sessions.is_empty());
    assert!(!opened.other_home);
    assert_eq!((opened.last_seq, opened.unwritable), (0, None));
    for suffix in ["", "-wal", "-shm"] {
        let mode = scene.companion(suffix).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix}");
    }
    opened.register.close();
    let left: BTreeSet<_> =
        scene.folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, BTreeSet::from(["register.db".into()]));
}

#[test]
fn saves_every_field() {
    let scene = Scene::new();
    let register = scene.open().register;
    let mut full = stored(1, Phase::Reaped);
    full.session.wanted =
        DesiredState::Stopped { grace: std::time::Duration::from_micros(1_500_001) };
    full.session.reason = Some(Reason::Failed {
        code: kennel_types::LaunchFailure::Exec,
        why: "no such file \"x\"".into(),
    });
    full.session.exit = Some(Exit::Signal { signal: 9, core: false, oom: true });
    full.session.owed = vec![Owed {
        what: OwedKind::PenFolder { path: "/sys/fs/cgroup/x".into() },
        failures: 3,
        why: Some("busy".into()),
    }];
    full.session.survivors = vec![Survivor { pid: 7, name: "vi".into(), why: "stuck".into() }];
    let mut nameless = stored(2, Phase::Lost);
    nameless.session.spec.name = None;
    let rows = [stored(0, Phase::Cleaned), full, nameless];
    for row in &rows {
        wait(register.save(row.clone(), vec![], Durability::Durable)).unwrap();
    }
    register.close();
    assert_eq!(scene.open().sessions, rows);
}

#[test]
fn the_last_save_of_a_session_counts() {
    let scene = Scene::new();
    let register = scene.open().register;
    let answers: Vec<_> = [Phase::Reserved, Phase::Running, Phase::Stopping, Phase::Cleaned]
        .map(|phase| register.save(stored(1, phase), vec![], Durability::Soon))
        .into();
    answers.into_iter().for_each(|answer| assert_eq!(wait(answer), Ok(vec![])));
    register.close();
    assert_eq!(scene.open().sessions, [stored(1, Phase::Cleaned)]);
}

#[test]
fn events_are_numbered_in_request_order_without_gaps() {
    let scene = Scene::new();
    let register = scene.open().register;
    let answers: Vec<_> = (0..100)
        .map(|number| {
            register.log(event("daemon_event"));
            let durability = if number % 3 == 0 { Durability::Durable } else { Durability::Soon };
            let events = vec![event_of(number, "reserved"), event_of(number, "launching")];
            register.save(stored(number, Phase::Launching), events, durability)
        })
        .collect();
    let mut expected = 0;
    for answer in answers {
        expected += 3;
        assert_eq!(wait(answer), Ok(vec![expected - 1, expected]));
    }
    let events = register.events(all_events()).unwrap();
    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=300).collect::<Vec<_>>());
    assert_eq!(*register.latest_seq().borrow(), 300);
    register.close();
    assert_eq!(scene.open().last_seq, 300);
}

#[test]
fn selects_events_by_session_sequence_number_and_limit() {
    let scene = Scene::new();
    let register = scene.open().register;
    let events = vec![event_of(1, "a"), event_of(2, "b"), event_of(1, "c"), event_of(1, "d")];
    wait(register.save(stored(1, Phase::Running), events, Durability::Soon)).unwrap();
    let kinds = |since, session, limit| {
        let events = register.events(EventQuery { since, session, limit }).unwrap();
        events.into_iter().map(|event| event.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(0, Some(id(1)), 9), ["a", "c", "d"]);
    assert_eq!(kinds(1, Some(id(1)), 1), ["c"]);
    assert_eq!(kinds(2, None, 9), ["c", "d"]);
    assert_eq!(kinds(0, None, 2), ["a", "b"]);
    assert!(kinds(4, None, 9).is_empty());
    assert!(kinds(u64::MAX, None, 9).is_empty());
    let first = &register.events(all_events()).unwrap()[0];
    assert_eq!(first.time, kennel_types::timestamp::rfc3339(NOW));
    assert_eq!(first.session.as_deref(), Some(id(1).as_str()));
    assert_eq!((first.cause.as_str(), &first.by), ("a test", &None));
}

/// Followers see an event only after its commit, so the batch delay is short while there are any.
#[test]
fn followers_see_events_without_delay() {
    let scene = Scene::new();
    let register = scene.open().register;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut latest = register.latest_seq();
    let delays = (0..20).map(|_| {
        let start = Instant::now();
        register.log(event_of(1, "x"));
        runtime.block_on(latest.changed()).unwrap();
        start.elapsed()
    });
    // A busy machine may delay some, but not all.
    let shortest = delays.min().unwrap();
    assert!(shortest < Duration::from_millis(25), "{shortest:?}");
}

#[test]
fn a_follower_can_read_the_event_that_woke_it() {
    let scene = Scene::new();
    let register = scene.open().register;
    let mut latest = register.latest_seq();
    let reader = register.clone();
    let follower = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut seen = 0;
        while seen < 20 {
            runtime.block_on(latest.changed()).unwrap();
            let newest = *latest.borrow_and_update();
            let query = EventQuery { since: seen, session: None, limit: 100 };
            // The previous wake-up may already have read it.
            seen = reader.events(query).unwrap().last().map_or(seen, |event| event.seq);
            assert!(seen >= newest, "{newest} was reported, but only {seen} is readable");
        }
    });
    for _ in 0..20 {
        let events = vec![event_of(1, "x")];
        wait(register.save(stored(1, Phase::Running), events, Durability::Durable)).unwrap();
    }
    follower.join().unwrap();
}

#[test]
fn removing_a_session_keeps_its_events() {
    let scene = Scene::new();
    scene.filled();
    let register = scene.open().register;
    wait(register.remove(vec![id(3), id(4), id(77)], event("removed"))).unwrap();
    assert_eq!(register.events(all_events()).unwrap().len(), 11);
    register.close();
    let left: Vec<_> = scene.open().sessions.into_iter().map(|row| row.session.id).collect();
    assert_eq!(left, [0, 1, 2, 5, 6, 7, 8, 9].map(id));
}

#[test]
fn never_reuses_a_sequence_number() {
    let scene = Scene::new();
    scene.filled();
    let database = rusqlite::Connection::open(scene.path()).unwrap();
    database.execute("DELETE FROM events", []).unwrap();
    drop(database);
    let opened = scene.open();
    assert_eq!(opened.last_seq, 10);
    opened.register.log(event("next"));
    opened.register.close();
    assert_eq!(scene.open().register.events(all_events()).unwrap()[0].seq, 11);
}

#[test]
fn close_waits_for_every_queued_write() {
    let scene = Scene::new();
    let register = scene.open().register;
    let clone = register.clone();
    for number in 0..200 {
        drop(register.save(stored(number, Phase::Running), vec![], Durability::Soon));
    }
    register.log(event("last"));
    register.close();
    let late = clone.save(stored(1, Phase::Cleaned), vec![], Durability::Durable);
    assert_eq!(wait(late), Err(WriteError::Closed));
    assert_eq!(wait(clone.remove(vec![id(1)], event("late"))), Err(WriteError::Closed));
    clone.log(event("late"));
    let opened = scene.open();
    assert_eq!(opened.sessions.len(), 200);
    assert_eq!(opened.last_seq, 1);
}

#[test]
fn writes_finish_after_their_callers_are_gone() {
    let scene = Scene::new();
    let register = scene.open().register;
    drop(register.save(stored(1, Phase::Reserved), vec![event("a")], Durability::Durable));
    wait(register.save(stored(2, Phase::Reserved), vec![], Durability::Durable)).unwrap();
    drop(register);
    // Dropping the last handle ends the thread, which checkpoints the WAL.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while scene.companion("-wal").exists() && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(scene.open().sessions.len(), 2);
}

#[test]
fn reports_a_copied_home_until_it_is_claimed() {
    let scene = Scene::new();
    scene.filled();
    let other = "ffffffffffffffff";
    for _ in 0..2 {
        let opened = Register::open(&scene.path(), other).unwrap();
        assert!(opened.other_home);
        assert_eq!(opened.sessions.len(), 10);
        opened.register.close();
    }
    let opened = Register::open(&scene.path(), other).unwrap();
    wait(opened.register.claim(other)).unwrap();
    opened.register.close();
    assert!(!Register::open(&scene.path(), other).unwrap().other_home);
    assert!(Register::open(&scene.path(), HOME).unwrap().other_home);
}

#[test]
fn tokens_are_on_record_but_in_no_event() {
    let scene = Scene::new();
    let register = scene.open().register;
    let events = vec![event_of(1, "reserved")];
    wait(register.save(stored(1, Phase::Reserved), events, Durability::Durable)).unwrap();
    let events = serde_json::to_string(&register.events(all_events()).unwrap()).unwrap();
    assert!(!events.contains(token(1).secret()), "{events}");
    register.close();
    assert_eq!(scene.open().sessions[0].session.launch.token, token(1));
}

#[test]
fn many_threads_read_and_write_concurrently() {
    let scene = Scene::new();
    let register = scene.open().register;
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let register = &register;
            scope.spawn(move || {
                for round in 0..25 {
                    let number = thread * 1000 + round;
                    let events = vec![event_of(number, "running")];
                    let saved =
                        register.save(stored(number, Phase::Running), events, Durability::Soon);
                    let seq = wait(saved).unwrap()[0];
                    let query = EventQuery { since: seq - 1, session: Some(id(number)), limit: 1 };
                    assert_eq!(register.events(query).unwrap()[0].seq, seq);
                }
            });
        }
    });
    register.close();
    assert_eq!(scene.open().sessions.len(), 200);
}

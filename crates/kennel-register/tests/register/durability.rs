//! Results are reported only after the commit, and a durable write costs exactly one flush.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use kennel_register::{Durability, Register, WriteError};
use kennel_types::{Phase, SessionId};

use crate::scene::{HOME, Scene, all_events, event, event_of, id, role, role_folder, stored, wait};

/// Waits until the register has extended its WAL, which it does when first idle. After that, only
/// writes cause flushes.
fn wait_until_idle(register: &Register) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while register.flushes() == 0 {
        assert!(Instant::now() < deadline, "the WAL was never extended");
        std::thread::yield_now();
    }
}

#[test]
fn a_durable_write_costs_one_flush_and_others_none() {
    let scene = Scene::new();
    let register = scene.open().register;
    wait_until_idle(&register);
    let before = register.flushes();
    for number in 0..10 {
        let events = vec![event_of(number, "reserved")];
        wait(register.save(stored(number, Phase::Reserved), events, Durability::Durable)).unwrap();
    }
    assert_eq!(register.flushes() - before, 10);
    for number in 0..3 {
        wait(register.save(stored(number, Phase::Running), vec![], Durability::Soon)).unwrap();
    }
    wait(register.remove(vec![id(1)], event("removed"))).unwrap();
    assert_eq!(register.flushes() - before, 10);
}

#[test]
fn concurrent_writes_share_a_flush() {
    let scene = Scene::new();
    let register = scene.open().register;
    wait_until_idle(&register);
    let before = register.flushes();
    let rows: Vec<_> = (0..100).map(|number| stored(number, Phase::Reserved)).collect();
    let answers: Vec<_> =
        rows.into_iter().map(|row| register.save(row, vec![], Durability::Durable)).collect();
    answers.into_iter().for_each(|answer| drop(wait(answer).unwrap()));
    let flushes = register.flushes() - before;
    assert!(flushes <= 40, "{flushes} flushes for 100 concurrent writes");
    register.close();
    assert_eq!(scene.open().sessions.len(), 100);
}

#[test]
fn a_write_that_is_not_durable_waits_only_briefly() {
    let scene = Scene::new();
    let register = scene.open().register;
    let start = Instant::now();
    wait(register.save(stored(1, Phase::Running), vec![], Durability::Soon)).unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    // A durable write commits it too, and reports it first.
    let mut soon = register.save(stored(2, Phase::Running), vec![], Durability::Soon);
    wait(register.save(stored(3, Phase::Running), vec![], Durability::Durable)).unwrap();
    assert_eq!(soon.try_recv().unwrap(), Ok(vec![]));
}

#[test]
fn the_wal_stays_the_same_file_and_has_a_bounded_size() {
    let scene = Scene::new();
    let register = scene.open().register;
    let inode = scene.companion("-wal").metadata().unwrap().ino();
    for round in 0..1500 {
        let number = round % 150;
        let events = vec![event_of(number, "running")];
        let saved = register.save(stored(number, Phase::Running), events, Durability::Durable);
        if number % 3 == 0 {
            wait(saved).unwrap();
        }
    }
    wait(register.save(stored(1, Phase::Cleaned), vec![], Durability::Durable)).unwrap();
    let log = scene.companion("-wal").metadata().unwrap();
    assert_eq!(log.ino(), inode);
    // Including the space that is reserved for 150 sessions.
    assert!(log.len() < 20 << 20, "{} bytes", log.len());
    register.close();
    assert_eq!(scene.open().last_seq, 1500);
}

#[test]
fn recreates_a_removed_wal_without_losing_records() {
    let scene = Scene::new();
    let register = scene.open().register;
    wait(register.save(stored(1, Phase::Running), vec![event("a")], Durability::Durable)).unwrap();
    assert_eq!(register.events(all_events()).unwrap().len(), 1);
    fs::remove_file(scene.companion("-wal")).unwrap();
    wait(register.save(stored(2, Phase::Running), vec![event("b")], Durability::Durable)).unwrap();
    assert_eq!(register.events(all_events()).unwrap().len(), 2);
    assert!(scene.companion("-wal").exists());
    // The files as a crash would leave them.
    let crashed = copy_of(&scene);
    assert_eq!(crashed.open().sessions.len(), 2);
    register.close();
    assert_eq!(scene.open().sessions.len(), 2);
}

fn copy_of(scene: &Scene) -> Scene {
    let copy = Scene::new();
    for suffix in ["", "-wal"] {
        fs::copy(scene.companion(suffix), copy.companion(suffix)).unwrap();
    }
    copy
}

#[test]
fn refuses_writes_while_the_register_is_moved_away() {
    let scene = Scene::new();
    let register = scene.open().register;
    fs::rename(scene.path(), scene.companion(".away")).unwrap();
    let save =
        |number, durability| register.save(stored(number, Phase::Running), vec![], durability);
    let answers: Vec<_> =
        [(1, Durability::Durable), (2, Durability::Soon)].map(|(n, d)| save(n, d)).into();
    register.log(event("kept"));
    for answer in answers {
        let error = wait(answer).unwrap_err();
        assert!(matches!(error, WriteError::Replaced { .. }), "{error}");
        assert!(error.to_string().contains("restore it"), "{error}");
    }
    fs::write(scene.path(), "another program's").unwrap();
    assert!(wait(save(1, Durability::Durable)).is_err());
    assert_eq!(fs::read(scene.path()).unwrap(), b"another program's");
    fs::rename(scene.companion(".away"), scene.path()).unwrap();
    wait(save(3, Durability::Durable)).unwrap();
    assert_eq!(register.events(all_events()).unwrap()[0].kind, "kept");
    register.close();
    assert_eq!(scene.open().sessions, [stored(3, Phase::Running)]);
}

#[test]
fn reports_a_lock_and_recovers_from_it() {
    let scene = Scene::new();
    let register = scene.open().register;
    let browser = rusqlite::Connection::open(scene.path()).unwrap();
    browser.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let answers: Vec<_> = (0..20)
        .map(|number| {
            let events = vec![event_of(number, "running")];
            register.save(stored(number, Phase::Running), events, Durability::Durable)
        })
        .collect();
    for answer in answers {
        let error = wait(answer).unwrap_err();
        assert!(matches!(error, WriteError::Locked { .. }), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(15), "each waited: {:?}", start.elapsed());
    browser.execute_batch("ROLLBACK").unwrap();
    wait(register.save(stored(99, Phase::Running), vec![event("x")], Durability::Durable)).unwrap();
    assert_eq!(register.events(all_events()).unwrap()[0].seq, 1, "no sequence number was used");
}

#[test]
fn a_failed_write_does_not_fail_the_others() {
    let scene = Scene::new();
    scene.filled();
    let database = rusqlite::Connection::open(scene.path()).unwrap();
    let trigger = "CREATE TRIGGER t BEFORE INSERT ON events WHEN NEW.kind = 'poison'
                   BEGIN SELECT RAISE(ABORT, 'poisoned'); END";
    database.execute_batch(trigger).unwrap();
    drop(database);
    let register = scene.open().register;
    let answers: Vec<_> = (20..40)
        .map(|number| {
            let kind = if number % 7 == 0 { "poison" } else { "running" };
            let events = vec![event_of(number, "before"), event_of(number, kind)];
            register.save(stored(number, Phase::Running), events, Durability::Durable)
        })
        .collect();
    for (number, answer) in (20..40).zip(answers) {
        let answer = wait(answer);
        assert_eq!(answer.is_err(), number % 7 == 0, "{number}: {answer:?}");
    }
    register.close();
    let opened = scene.open();
    let there: BTreeSet<_> = opened.sessions.iter().map(|row| row.session.id.clone()).collect();
    assert_eq!(there.len(), 10 + 17);
    assert!(![21, 28, 35].iter().any(|number| there.contains(&id(*number))));
    assert_eq!(opened.last_seq, 10 + 34, "failed writes used no sequence number");
}

#[test]
fn every_acknowledged_write_survives_a_kill() {
    for acknowledged in [1, 40, 400] {
        let scene = Scene::new();
        let mut child = role("durability::role_writes_forever", scene.folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = Vec::new();
        while seen.len() < acknowledged {
            let line = lines.next().expect("the child continues").unwrap();
            seen.extend(line.strip_prefix("acknowledged ").map(str::to_owned));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Lines that it printed before the kill count too.
        let rest = lines.map_while(Result::ok);
        seen.extend(rest.filter_map(|line| Some(line.strip_prefix("acknowledged ")?.to_owned())));
        let opened = scene.open();
        let there: BTreeSet<SessionId> =
            opened.sessions.iter().map(|row| row.session.id.clone()).collect();
        for id in &seen {
            assert!(there.contains(&SessionId::parse(id).unwrap()), "{id} was lost");
        }
        let events = opened.register.events(all_events()).unwrap();
        let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, (1..=opened.last_seq).collect::<Vec<_>>());
        assert_eq!(
            there.len() as u64,
            opened.last_seq,
            "a row and its event are committed together"
        );
    }
}

#[test]
#[ignore = "started by the test above, and killed"]
fn role_writes_forever() {
    let Some(folder) = role_folder() else { return };
    let register = Register::open(&folder.join("register.db"), HOME).unwrap().register;
    for round in 0.. {
        let answers: Vec<_> = (0..3)
            .map(|number| {
                let number = round * 3 + number;
                let events = vec![event_of(number, "reserved")];
                let row = stored(number, Phase::Reserved);
                (number, register.save(row, events, Durability::Durable))
            })
            .collect();
        for (number, answer) in answers {
            wait(answer).unwrap();
            println!("\nacknowledged {}", id(number));
        }
    }
}

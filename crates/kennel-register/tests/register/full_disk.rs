//! A full disk: new sessions are refused, known ones are recorded to their end, and writes resume
//! with free space.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use kennel_register::{Durability, OpenRegisterError, Register, WriteError};
use kennel_types::{Exit, Phase};

use crate::scene::{
    HOME, Scene, event, event_of, mount, must_pass, role_folder, role_with_mounts, stored, wait,
};

fn on_a_small_disk(test: &str) {
    let scene = Scene::new();
    if let Some(role) = role_with_mounts(test, scene.folder.path()) {
        must_pass(role);
    }
}

/// Uses all free space.
fn fill(disk: &Path) {
    let mut file = File::create(disk.join("ballast")).unwrap();
    let mut size = 64 << 10;
    while size > 0 {
        if file.write_all(&vec![7; size]).is_err() {
            size /= 2;
        }
    }
}

#[test]
fn creates_no_register_on_a_full_disk() {
    on_a_small_disk("full_disk::role_creates_a_register_on_a_full_disk");
}

#[test]
#[ignore = "started by the test above, with its own mounts"]
fn role_creates_a_register_on_a_full_disk() {
    let Some(folder) = role_folder() else { return };
    let disk = folder.join("disk");
    assert!(mount(&disk, &["-t", "tmpfs", "-o", "size=16k", "tmpfs"]));
    let error = Register::open(&disk.join("register.db"), HOME).unwrap_err();
    assert!(matches!(error, OpenRegisterError::Full { .. }), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(disk.read_dir().unwrap().count(), 0, "a file is left");
}

#[test]
fn every_write_on_a_tiny_disk_reports_that_it_is_full() {
    on_a_small_disk("full_disk::role_writes_on_a_tiny_disk");
}

#[test]
#[ignore = "started by the test above, with its own mounts"]
fn role_writes_on_a_tiny_disk() {
    let Some(folder) = role_folder() else { return };
    let disk = folder.join("disk");
    assert!(mount(&disk, &["-t", "tmpfs", "-o", "size=128k", "tmpfs"]));
    let opened = Register::open(&disk.join("register.db"), HOME).unwrap();
    let answers: Vec<_> = (0..20)
        .map(|number| {
            let row = stored(number, Phase::Reserved);
            opened.register.save(row, vec![event_of(number, "reserved")], Durability::Durable)
        })
        .collect();
    for answer in answers {
        let error = wait(answer).unwrap_err();
        assert!(matches!(error, WriteError::Full { .. }), "{error}");
    }
}

#[test]
fn records_ends_of_sessions_on_a_full_disk() {
    on_a_small_disk("full_disk::role_ends_sessions_on_a_full_disk");
}

#[test]
#[ignore = "started by the test above, with its own mounts"]
fn role_ends_sessions_on_a_full_disk() {
    let Some(folder) = role_folder() else { return };
    let disk = folder.join("disk");
    assert!(mount(&disk, &["-t", "tmpfs", "-o", "size=40m", "tmpfs"]));
    let path = disk.join("register.db");
    let register = Register::open(&path, HOME).unwrap().register;
    let save = |number, phase, events| {
        let mut row = stored(number, phase);
        if phase == Phase::Cleaned {
            row.session.exit = Some(Exit::Unknown { why: "long ".repeat(200) });
        }
        register.save(row, events, Durability::Durable)
    };
    for number in 0..200 {
        wait(save(number, Phase::Reserved, vec![event_of(number, "reserved")])).unwrap();
        wait(save(number, Phase::Running, vec![event_of(number, "running")])).unwrap();
    }
    fill(&disk);
    // New sessions are accepted as long as there is space for their end.
    let refused = (1000..1100).find_map(|number| {
        let new_session = save(number, Phase::Reserved, vec![event_of(number, "reserved")]);
        // In the same transaction as a write that is accepted.
        let known = save(0, Phase::Stopping, vec![event_of(0, "stopping")]);
        wait(known).unwrap();
        Some((number, wait(new_session).err()?))
    });
    let (first_refused, error) = refused.expect("the disk is full");
    assert!(matches!(error, WriteError::Full { .. }), "{error}");
    for number in (0..200).chain(1000..first_refused) {
        wait(save(number, Phase::Stopping, vec![event_of(number, "stopping")])).unwrap();
        wait(save(number, Phase::Cleaned, vec![event_of(number, "cleaned")])).unwrap();
    }
    register.log(event("daemon_stopped"));
    fs::remove_file(disk.join("ballast")).unwrap();
    wait(save(first_refused, Phase::Reserved, vec![])).unwrap();
    register.close();
    let rows = Register::open(&path, HOME).unwrap().sessions;
    let over = rows.iter().filter(|row| row.session.phase == Phase::Cleaned).count();
    assert_eq!((over, rows.len()), (over, over + 1));
    assert_eq!(over, 200 + (first_refused - 1000) as usize);
}

#[test]
fn opens_with_its_sessions_on_a_full_disk() {
    on_a_small_disk("full_disk::role_opens_on_a_full_disk");
}

#[test]
#[ignore = "started by the test above, with its own mounts"]
fn role_opens_on_a_full_disk() {
    let Some(folder) = role_folder() else { return };
    let disk = folder.join("disk");
    assert!(mount(&disk, &["-t", "tmpfs", "-o", "size=8m", "tmpfs"]));
    let path = disk.join("register.db");
    let register = Register::open(&path, HOME).unwrap().register;
    wait(register.save(stored(1, Phase::Running), vec![event("a")], Durability::Durable)).unwrap();
    register.close();
    fill(&disk);

    let opened = Register::open(&path, HOME).unwrap();
    assert_eq!(opened.sessions, [stored(1, Phase::Running)]);
    assert_eq!(opened.last_seq, 1);
    assert!(matches!(opened.unwritable, Some(WriteError::Full { .. })), "{:?}", opened.unwritable);
    let register = opened.register;
    let save = |number, phase| register.save(stored(number, phase), vec![], Durability::Durable);
    for answer in [save(1, Phase::Stopping), save(2, Phase::Reserved)] {
        let error = wait(answer).unwrap_err();
        assert!(matches!(error, WriteError::Full { .. }), "{error}");
        assert!(error.to_string().contains("free some space"), "{error}");
    }
    register.log(event("daemon_started"));

    fs::remove_file(disk.join("ballast")).unwrap();
    assert_eq!(wait(save(1, Phase::Cleaned)), Ok(vec![]));
    register.close();
    let opened = Register::open(&path, HOME).unwrap();
    assert_eq!(opened.unwritable, None);
    assert_eq!(opened.sessions, [stored(1, Phase::Cleaned)]);
    assert_eq!(opened.last_seq, 2, "the event was kept until there was space");
}

#[test]
fn opens_with_its_sessions_on_a_full_disk_after_a_crash() {
    on_a_small_disk("full_disk::role_opens_a_crashed_register_on_a_full_disk");
}

#[test]
#[ignore = "started by the test above, with its own mounts"]
fn role_opens_a_crashed_register_on_a_full_disk() {
    let Some(folder) = role_folder() else { return };
    let disk = folder.join("disk");
    assert!(mount(&disk, &["-t", "tmpfs", "-o", "size=8m", "tmpfs"]));
    let before = folder.join("before.db");
    let register = Register::open(&before, HOME).unwrap().register;
    wait(register.save(stored(1, Phase::Running), vec![event("a")], Durability::Durable)).unwrap();
    // The files as a crash leaves them, including `-shm`.
    for suffix in ["", "-wal", "-shm"] {
        let name = |name: &str| format!("{name}.db{suffix}");
        fs::copy(folder.join(name("before")), disk.join(name("register"))).unwrap();
    }
    fill(&disk);
    let opened = Register::open(&disk.join("register.db"), HOME).unwrap();
    assert_eq!(opened.sessions, [stored(1, Phase::Running)]);
    let save =
        |number, phase| opened.register.save(stored(number, phase), vec![], Durability::Durable);
    // The WAL was extended before the crash: there is space for some sessions, and for the end of
    // each.
    let mut next = 2;
    while next < 200 && wait(save(next, Phase::Reserved)).is_ok() {
        next += 1;
    }
    assert!(next < 200, "the disk is full");
    for number in 1..next {
        wait(save(number, Phase::Cleaned)).unwrap();
    }
    fs::remove_file(disk.join("ballast")).unwrap();
    wait(save(200, Phase::Reserved)).unwrap();
}

//! B6: with an unusable register nothing starts, and the register stays unchanged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use kennel_testing::{Ended, Pen, Running, Scene, SmallDisk, Who, eventually, signal};
use rustix::fs::FlockOperation;
use serde_json::Value;

use crate::launch_and_cancel::scene_with_points;

const TIMEOUT: Duration = Duration::from_secs(20);

fn register(scene: &Scene) -> PathBuf {
    scene.kennel_home().join("register.db")
}

/// A used home without a running daemon.
fn used_home(who: Who) -> Option<Scene> {
    let scene = Scene::new(who, Pen::Subtree)?;
    let id = scene.launch(&["--name", "former"], &["exit", "3"]);
    assert_eq!(scene.call(&["wait", &id]).code, 3);
    scene.stop_daemon();
    fs::remove_file(scene.path("work/pids")).ok();
    Some(scene)
}

/// Requests a session that must not start.
#[track_caller]
fn assert_refused(scene: &Scene, why: &str) -> Ended {
    let ended = scene.run(&["-d"], &["sleep"]);
    assert_eq!(ended.code, 202, "{ended:?}");
    assert!(ended.stderr.to_lowercase().contains(why), "{why:?}: {ended:?}");
    assert_eq!(scene.pids(), [], "something was started");
    eventually("nothing is left", || scene.processes().is_empty());
    ended
}

fn set_mode(path: &PathBuf, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

#[test]
fn a_corrupt_register_is_refused_and_kept() {
    let Some(scene) = used_home(Who::Other) else { return };
    let path = register(&scene);
    let garbage = vec![b'x'; 10_000];
    fs::write(&path, &garbage).expect("written");
    let refused = assert_refused(&scene, "register");
    assert!(refused.stderr.contains(path.to_str().expect("plain")), "{refused:?}");
    assert_eq!(fs::read(&path).expect("it is there"), garbage, "never overwritten");
    eventually("no process stays without a register", || scene.all_processes().is_empty());
    // The remedy: move it away.
    fs::rename(&path, path.with_extension("broken")).expect("moved");
    assert_eq!(scene.run(&[], &["exit", "4"]).code, 4);
    scene.stop_daemon();
}

#[test]
fn a_register_of_a_newer_version_is_refused_and_kept() {
    let Some(scene) = used_home(Who::Other) else { return };
    let path = register(&scene);
    let mut bytes = fs::read(&path).expect("a register");
    // `PRAGMA user_version`: big-endian at 60.
    bytes[60..64].copy_from_slice(&[0, 0, 0x27, 0x0f]);
    fs::write(&path, &bytes).expect("written");
    assert_refused(&scene, "schema version");
    assert_eq!(fs::read(&path).expect("it is there"), bytes);
    eventually("no process stays without a register", || scene.all_processes().is_empty());
}

#[test]
fn with_a_read_only_register_nothing_starts() {
    let Some(scene) = used_home(Who::Other) else { return };
    let path = register(&scene);
    let before = fs::read(&path).expect("a register");
    set_mode(&path, 0o400);
    assert_refused(&scene, "register");
    assert_eq!(fs::read(&path).expect("it is there"), before);
    let _left_or_not = scene.call(&["daemon", "stop"]);
    set_mode(&path, 0o600);
    assert_eq!(scene.session("former")["exit"]["code"], 3, "nothing was lost");
    scene.stop_daemon();
}

#[test]
fn a_locked_register_is_refused_with_the_reason() {
    let Some(scene) = used_home(Who::Other) else { return };
    let path = register(&scene);
    let file = fs::File::options().read(true).write(true).open(&path).expect("a register");
    rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).expect("locked");
    assert_refused(&scene, "lock");
    drop(file);
    assert_eq!(scene.run(&[], &["exit", "4"]).code, 4);
    scene.stop_daemon();
}

/// The daemon dies after it has cleaned up a session and before that is on record, so that the next
/// daemon cleans up again.
#[test]
fn a_repeated_cleanup_is_logged_once() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    let id = scene.launch_ready(&[], &["sleep"]);
    let other = scene.launch_ready(&[], &["sleep"]);
    let events = |session: &str, kind: &str| {
        let text = scene.call_ok(&["events", "--json"]);
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        events.filter(|event| event["session"] == session && event["kind"] == kind).count()
    };
    faults.arm("daemon.record.outcome_saved");
    let stops = [&id, &other].map(|id| {
        let stop = Running::start(scene.kennel(&["stop", id]));
        scene.wait_phase(id, "cleaned");
        stop
    });
    // The owner stops, so that it does not see that the outcomes are saved.
    faults.arm("daemon.record.intent");
    let run = Running::start(scene.kennel(&["run", "-d", "true"]));
    faults.wait_reached("daemon.record.intent", TIMEOUT).expect("a session is about to be saved");
    faults.disarm("daemon.record.outcome_saved");
    // The API waits for the owner, but the file does not: a row has its columns side by side.
    let row = format!("{other}wanted_stopped");
    eventually("what was logged later is saved", || {
        let wal = fs::read(scene.kennel_home().join("register.db-wal")).expect("a WAL");
        wal.windows(row.len()).any(|bytes| bytes == row.as_bytes())
    });
    signal(scene.daemon().expect("a daemon"), "KILL");
    faults.disarm("daemon.record.intent");
    for id in [&id, &other] {
        scene.wait_phase(id, "cleaned");
        eventually("it is logged", || events(id, "cleaned") > 0);
        assert_eq!((events(id, "reaped"), events(id, "cleaned")), (1, 1));
    }
    for client in stops.into_iter().chain([run]) {
        let ended = client.wait();
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    scene.stop_daemon();
}

/// Running sessions continue and can be stopped.
#[test]
fn on_a_full_disk_nothing_starts_and_nothing_ends() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    let disk = SmallDisk::at_home(&scene);
    let id = scene.launch_ready(&[], &["env-i"]);
    let agent = scene.pid_of("agent");
    disk.fill();
    let refused = scene.run(&["-d"], &["sleep"]);
    assert_eq!(refused.code, 202, "{refused:?}");
    let enrolled = scene.pids().len();
    assert_eq!(enrolled, 2, "something was started");
    assert!(kennel_testing::alive(agent));
    disk.free();
    scene.call_ok(&["stop", &id]);
    signal(scene.daemon().expect("a daemon"), "KILL");
    assert_eq!(scene.session(&id)["phase"], "cleaned");
    scene.assert_nothing_left();
    scene.stop_daemon();
}

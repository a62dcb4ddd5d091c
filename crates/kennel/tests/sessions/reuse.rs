//! Keepers that are used again: a launch must not notice that its keeper had one before, nor pay for it.

use std::fs;
use std::path::PathBuf;

use kennel_testing::{Pen, Running, Scene, Who, eventually, signal};

fn program(pid: i32) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/exe")).expect("its program")
}

/// What it leaves when it is killed would fall to nobody of ours.
#[test]
fn a_keeper_of_a_former_yard_gets_no_further_launch() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Subtree) else { continue };
        let first = scene.launch_ready(&[], &["sleep"]);
        let former = scene.yard().expect("a yard");
        signal(former, "KILL");
        eventually("another yard has come", || scene.yard().is_some_and(|yard| yard != former));
        assert_eq!(scene.wait_phase(&first, "running")["wanted"], "running");
        scene.call_ok(&["stop", &first]);
        eventually("its keeper has no session", || scene.keeper().is_none());
        fs::remove_file(scene.path("work/pids")).expect("the pids of the first");
        let id = scene.launch_ready(&[], &["env-i"]);
        signal(scene.keeper().expect("a keeper"), "KILL");
        let session = scene.wait_phase(&id, "cleaned");
        assert_eq!(session["reason"]["kind"], "keeper_died", "{session:#}");
        // It was said to be gone: so it is, and not only soon.
        assert_eq!(scene.processes(), [], "{session:#}");
        scene.stop_daemon();
    }
}

/// It may not even understand what it is told.
#[test]
fn a_keeper_of_an_older_program_gets_no_further_launch() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let first = scene.launch_ready(&[], &["sleep"]);
    fs::create_dir(scene.path("newer")).expect("mkdir");
    let newer = scene.path("newer/kennel");
    fs::copy(scene.path("kennel"), &newer).expect("copied");
    let mut restart = scene.command(&newer);
    restart.args(["daemon", "restart"]).env("KENNEL_HOME", scene.kennel_home());
    let restart = Running::start(restart).wait();
    assert_eq!(restart.code, 0, "{restart:?}");
    scene.call_ok(&["stop", &first]);
    eventually("its keeper has no session", || scene.keeper().is_none());
    scene.launch_ready(&[], &["sleep"]);
    assert_eq!(program(scene.keeper().expect("a keeper")), newer);
    scene.call_ok(&["stop", "--all"]);
    scene.stop_daemon();
}

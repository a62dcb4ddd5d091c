//! Reused keepers: a launch must not be affected by its keeper's earlier launch.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use kennel_testing::{Pen, Running, Scene, Who, alive, eventually, signal};

use crate::launch_and_cancel::{assert_cleaned, scene_with_points};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A keeper that waits for a launch.
pub(crate) fn spare(scene: &Scene) -> Option<i32> {
    let all = scene.all_processes().into_iter();
    all.filter(|p| p.state != 'Z' && p.command.starts_with("kennel-spare")).map(|p| p.pid).next()
}

/// Ends a session so that its keeper waits for another, and returns the keeper.
#[track_caller]
fn leave_a_spare(scene: &Scene) -> i32 {
    scene.launch_command(&[], &["/bin/true"]);
    eventually("its keeper is free", || spare(scene).is_some());
    spare(scene).expect("just seen")
}

fn program(pid: i32) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/exe")).expect("its program")
}

/// If it were killed, no yard would inherit its orphans.
#[test]
fn a_keeper_of_a_former_yard_gets_no_further_launch() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Subtree) else { continue };
        let first = scene.launch_ready(&[], &["sleep"]);
        let former = scene.yard().expect("a yard");
        signal(former, "KILL");
        eventually("another yard runs", || scene.yard().is_some_and(|yard| yard != former));
        assert_eq!(scene.wait_phase(&first, "running")["wanted"], "running");
        scene.call_ok(&["stop", &first]);
        eventually("its keeper has no session", || scene.keeper().is_none());
        fs::remove_file(scene.path("work/pids")).expect("the pids of the first");
        let id = scene.launch_ready(&[], &["env-i"]);
        signal(scene.keeper().expect("a keeper"), "KILL");
        let session = scene.wait_phase(&id, "cleaned");
        assert_eq!(session["reason"]["kind"], "keeper_died", "{session:#}");
        // Kennel reported it as gone, so it must be gone already.
        assert_eq!(scene.processes(), [], "{session:#}");
        scene.stop_daemon();
    }
}

/// The pid of the agent in its namespace belongs to another process here.
#[test]
fn a_reused_keeper_records_the_agents_pid_outside_of_its_namespace() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    let spare = leave_a_spare(&scene);
    let command = ["run", "-d", "--name", "x", "--pen", "pidns", "--", "/bin/sleep", "300"];
    scene.call_ok(&command);
    let session = scene.wait_phase("x", "running");
    assert!(alive(spare), "it has a launch");
    let pid = session["pid"].as_i64().expect("a pid");
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the agent");
    assert!(status.contains(&format!("NSpid:\t{pid}\t")), "{status}");
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

/// It may not understand newer messages.
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

/// It had no launch yet: the yard starts another keeper.
#[test]
fn a_spare_keeper_that_dies_before_it_gets_its_launch_costs_nothing() {
    for point in ["daemon.launch.begun", "daemon.launch.locked"] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        let spare = leave_a_spare(&scene);
        faults.arm(point);
        let run = Running::start(scene.run_command(&["--name", "x"], &["/bin/sh", "-c", "exit 7"]));
        faults.wait_reached(point, TIMEOUT).expect("the launch is held");
        signal(spare, "KILL");
        eventually("it is dead", || !alive(spare));
        // The daemon notices that before it receives the request.
        scene.call_ok(&["ps"]);
        faults.disarm(point);
        let run = run.wait();
        assert_eq!(run.code, 7, "{point}: {run:?}\n{}", scene.logs());
        scene.wait_phase("x", "cleaned");
        assert_cleaned(&scene, "x");
        scene.stop_daemon();
    }
}

/// The disk is so slow that the launch is given up meanwhile.
#[test]
fn files_of_an_abandoned_launch_are_removed() {
    for with_spare in [false, true] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        scene.call_ok(&["daemon", "start"]);
        if with_spare {
            leave_a_spare(&scene);
        }
        faults.arm("daemon.launch.begun");
        let run = Running::start(scene.run_command(&["-d", "--name", "x"], &["/bin/true"]));
        faults.wait_reached("daemon.launch.begun", TIMEOUT).expect("the launch is held");
        let given_up = || scene.session("x")["wanted"] == "stopped";
        eventually("the launch is given up", given_up);
        faults.disarm("daemon.launch.begun");
        let session = scene.wait_phase("x", "cleaned");
        assert_eq!(session["exit"]["kind"], "never_ran", "{session:#}");
        assert_ne!(run.wait().code, 0);
        let folder = scene.session_folder(session["id"].as_str().expect("an id"));
        eventually("the files exist", || folder.join("lock").exists());
        assert_cleaned(&scene, "x");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

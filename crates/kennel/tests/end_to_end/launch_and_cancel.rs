//! Launch and cancel: a cancel, a failure or a second client at any moment.

use std::time::Duration;

use kennel_testing::{
    Faults, Pen, Running, Scene, Who, eventually, everywhere, is_free, signal, skip,
};

use crate::crash_case::{Noted, Part, Scenario, Victims, all_points};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A scene whose processes can be stopped at fault points, or `None` with a message.
pub(crate) fn scene_with_points(who: Who, pen: Pen) -> Option<(Scene, Faults)> {
    if !cfg!(feature = "faults") {
        skip("holding a process at a point", "built without the feature `faults`");
        return None;
    }
    let scene = Scene::new(who, pen)?;
    let faults = Faults::new(&scene);
    Some((scene, faults))
}

/// The files that only a live session needs.
#[track_caller]
pub(crate) fn assert_cleaned(scene: &Scene, reference: &str) {
    let session = scene.session(reference);
    assert_eq!(session["phase"], "cleaned", "{session:#}");
    let folder = scene.session_folder(session["id"].as_str().expect("an id"));
    assert!(!folder.join("keeper.sock").exists(), "its socket is left: {session:#}");
    assert!(!folder.join("token").exists(), "its token is left: {session:#}");
    eventually("its lock is free", || is_free(&folder.join("lock")));
}

everywhere! {
    /// B1: also a third time, after the session has ended.
    fn a_stop_can_be_repeated_while_it_is_in_progress(scene: Scene) {
        let id = scene.launch_ready(&["--grace", "30s"], &["ignore-term", "2"]);
        let first = Running::start(scene.kennel(&["stop", &id]));
        scene.wait_phase(&id, "stopping");
        let second = scene.call(&["stop", "--now", &id]);
        assert_eq!(second.code, 0, "{second:?}");
        let first = first.wait();
        assert_eq!(first.code, 0, "{first:?}");
        assert!(first.took < Duration::from_secs(25), "the shortest grace counts");
        let third = scene.call_ok(&["stop", &id]);
        assert!(third.contains("already gone"), "{third}");
        assert_cleaned(&scene, &id);
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    /// B7
    fn a_stop_reaches_a_child_that_ignores_term_after_its_agent_crashed(scene: Scene) {
        let id = scene.launch_ready(&["--linger", "1h", "--grace", "100ms"], &["ignore-term-exit"]);
        eventually("the agent has crashed", || scene.session(&id)["exit"]["code"] == 3);
        let printed = scene.call_ok(&["stop", &id]);
        // Exactly when the answer arrives.
        scene.assert_nothing_left();
        assert!(printed.contains("stopped"), "{printed}");
        assert_eq!(scene.call(&["wait", &id]).code, 3);
        scene.stop_daemon();
    }

    /// B8: the caller may vanish, and so may the daemon.
    fn a_stop_completes_when_its_caller_is_killed_in_the_grace(scene: Scene) {
        for daemon_too in [false, true] {
            let id = scene.launch_ready(&["--grace", "1s"], &["ignore-term", "1"]);
            let stop = Running::start(scene.kennel(&["stop", &id]));
            scene.wait_phase(&id, "stopping");
            stop.signal("KILL");
            if daemon_too {
                signal(scene.daemon().expect("a daemon"), "KILL");
            }
            let _killed = stop.wait();
            assert_eq!(scene.wait_phase(&id, "cleaned")["exit"]["signal"], 9);
            scene.assert_nothing_left_soon();
        }
        scene.stop_daemon();
    }
}

/// B2: also at the daemon's points, where it learns of the stop only afterwards.
fn cancel_at_every_step(pen: Pen) {
    for point in all_points().filter(|point| Scenario::passing(point) == Scenario::Launch) {
        let Some((scene, faults)) = scene_with_points(Who::Root, pen) else { return };
        scene.call_ok(&["daemon", "start"]);
        let subject = Part::new("subject", false);
        faults.arm(point);
        let run = subject.start(&scene);
        faults.wait_reached(point, TIMEOUT).unwrap_or_else(|| panic!("{point} is not passed"));
        let stop = Running::start(scene.kennel(&["stop", "subject"]));
        if !point.starts_with("daemon.") {
            let wanted = || scene.session("subject")["wanted"] == "stopped";
            eventually("the stop has arrived", wanted);
        }
        faults.disarm(point);
        let (run, stop) = (run.wait(), stop.wait());
        assert_eq!(stop.code, 0, "{point}: {stop:?}\n{run:?}\n{}", scene.logs());
        scene.assert_nothing_left();
        assert_cleaned(&scene, "subject");
        let session = scene.session("subject");
        let never = session["exit"]["kind"] == "never_ran";
        let noted = subject.noted(&scene);
        assert!(!never || noted == Noted::Nothing, "{point}: {session:#}");
        let reason = &session["reason"]["kind"];
        assert!(reason == "stopped" || reason == "failed", "{point}: {session:#}");
        scene.stop_daemon();
    }
}

#[test]
fn a_cancel_at_any_step_of_a_launch_leaves_nothing_in_a_cgroup_pen() {
    cancel_at_every_step(Pen::Cgroup);
}

#[test]
fn a_cancel_at_any_step_of_a_launch_leaves_nothing_in_a_subtree_pen() {
    cancel_at_every_step(Pen::Subtree);
}

/// B3
#[test]
fn a_session_that_is_being_launched_is_not_removed() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    scene.call_ok(&["daemon", "start"]);
    faults.arm("keeper.go");
    let run = Part::new("subject", false).start(&scene);
    faults.wait_reached("keeper.go", TIMEOUT).expect("the launch is held");
    let refused = scene.call(&["rm", "subject"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("has not ended"), "{refused:?}");
    let forced = Running::start(scene.kennel(&["rm", "--force", "subject"]));
    eventually("the stop has arrived", || scene.session("subject")["wanted"] == "stopped");
    faults.disarm("keeper.go");
    let forced = forced.wait();
    assert_eq!(forced.code, 0, "{forced:?}");
    let run = run.wait();
    assert_eq!((run.code, run.stdout.as_str()), (206, ""), "nothing was started: {run:?}");
    assert_eq!(scene.sessions(), Vec::<serde_json::Value>::new());
    scene.assert_nothing_left();
    let left = std::fs::read_dir(scene.kennel_home().join("sessions")).expect("a folder").count();
    assert_eq!(left, 0, "folders are left");
    scene.stop_daemon();
}

/// B4: a client that is killed while its session is launched.
#[test]
fn a_session_whose_client_was_killed_is_owned_and_settles() {
    for detached in [true, false] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        scene.call_ok(&["daemon", "start"]);
        faults.arm("keeper.go");
        let flags: &[&str] = if detached { &["-d", "--name", "x"] } else { &["--name", "x"] };
        let run = scene.start(flags, &["env-i"]);
        faults.wait_reached("keeper.go", TIMEOUT).expect("the launch is held");
        run.signal("KILL");
        let _killed = run.wait();
        if !detached {
            eventually("the daemon has seen it go", || scene.session("x")["wanted"] == "stopped");
        }
        faults.disarm("keeper.go");
        if detached {
            scene.wait_phase("x", "running");
            scene.call_ok(&["stop", "x"]);
        }
        scene.wait_phase("x", "cleaned");
        assert_cleaned(&scene, "x");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

/// B5
#[test]
fn a_launch_that_fails_says_why_and_leaves_nothing() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let run = |flags: &[&str], argv: &[&str]| {
        let mut command = scene.kennel(&["run", "-d"]);
        command.args(flags).arg("--").args(argv);
        Running::start(command).wait()
    };
    let agent = scene.fake_agent();
    for (flags, argv, code, why) in [
        (&["--pen", "subtree"][..], &["/no/such/program"][..], 204, "/no/such/program"),
        (&["--pen", "subtree", "--cwd", "/no/such/folder"], &[&agent, "sleep"], 204, "folder"),
        // Another user has no cgroup for pens here.
        (&["--pen", "cgroup"], &[&agent, "sleep"], 203, "cgroup"),
    ] {
        let ended = run(flags, argv);
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(ended.stderr.contains(why), "{ended:?}");
        assert_eq!(ended.stdout, "", "no id of something that never ran");
        scene.assert_nothing_left();
        let session = scene.sessions().pop().expect("it is on record");
        assert_eq!(session["phase"], "cleaned", "{session:#}");
        assert_eq!(session["exit"]["kind"], "never_ran", "{session:#}");
        assert_eq!(session["reason"]["code"], code, "{session:#}");
    }
    assert_eq!(scene.pids(), [], "nothing ran in its place");
    scene.stop_daemon();
}

/// B10: with the files of a daemon and a yard that were killed.
#[test]
fn of_many_concurrent_clients_exactly_one_starts_a_daemon() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    for round in 0..6 {
        let starters: Vec<_> = (0..8).map(|_| Running::start(scene.kennel(&["ps"]))).collect();
        for starter in starters {
            let ended = starter.wait();
            assert_eq!(ended.code, 0, "round {round}: {ended:?}\n{}", scene.logs());
        }
        let named = |name: &str| {
            let all = scene.all_processes().into_iter();
            all.filter(|p| p.state != 'Z' && p.command.starts_with(name)).count()
        };
        eventually("one daemon, one yard", || {
            (named("kennel-daemon"), named("kennel-yard")) == (1, 1)
        });
        if round % 2 == 0 {
            Victims { daemon: true, keeper: false, yard: true }.kill(&scene, None);
            eventually("both are dead", || named("kennel-daemon") + named("kennel-yard") == 0);
        } else {
            scene.stop_daemon();
        }
    }
    scene.stop_daemon();
}

//! Shutdown: bounded, awaited, and reported session by session.

use std::time::{Duration, Instant};

use kennel_testing::{Pen, Running, Scene, Who, eventually, everywhere, signal};

use crate::crash_case::Part;
use crate::freezer::FreezerGroup;
use crate::launch_and_cancel::scene_with_points;

const TIMEOUT: Duration = Duration::from_secs(20);

everywhere! {
    /// T2: with `stop --all` and `daemon stop`.
    fn many_sessions_that_ignore_term_end_within_one_grace(scene: Scene) {
        for by_daemon in [false, true] {
            let flags = ["--grace", "1s"];
            let ids: Vec<_> =
                (0..6).map(|_| scene.launch_ready(&flags, &["ignore-term", "1"])).collect();
            let begun = Instant::now();
            let args: &[&str] = if by_daemon { &["daemon", "stop"] } else { &["stop", "--all"] };
            let printed = scene.call_ok(args);
            let took = begun.elapsed();
            assert!(took >= Duration::from_secs(1), "the grace was given: {took:?}");
            assert!(took < Duration::from_secs(5), "one grace for each: {took:?}");
            for id in &ids {
                assert!(printed.contains(id.as_str()), "{id} in {printed}");
            }
            assert_eq!(printed.matches("stopped in").count(), ids.len(), "{printed}");
            scene.assert_nothing_left();
        }
        eventually("yard and daemon have exited", || scene.all_processes().is_empty());
    }

    /// T4
    fn a_session_ends_although_a_descendant_holds_its_stdout_open(scene: Scene) {
        let id = scene.launch(&["--linger", "100ms"], &["hold-stdout"]);
        assert_eq!(scene.call(&["wait", &id]).code, 0);
        assert_eq!(scene.output(&id), "ready\n");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    /// The yard forwards TERM, so a service manager may signal either process.
    fn a_term_to_yard_or_daemon_ends_everything(scene: Scene) {
        for to_yard in [false, true] {
            let id = scene.launch_ready(&["--grace", "5s"], &["env-i"]);
            let pid = if to_yard { scene.yard() } else { scene.daemon() };
            signal(pid.expect("it runs"), "TERM");
            eventually("no process is left", || scene.all_processes().is_empty());
            let session = scene.session(&id);
            assert_eq!(session["phase"], "cleaned", "{session:#}");
            assert_eq!(session["reason"]["kind"], "shutdown", "{session:#}");
            assert_eq!(session["exit"]["signal"], 15, "{session:#}");
        }
        scene.stop_daemon();
    }

    fn a_daemon_that_keeps_its_sessions_adopts_them_again(scene: Scene) {
        let id = scene.launch_ready(&[], &["env-i"]);
        scene.call_ok(&["daemon", "stop", "--keep"]);
        assert_eq!(scene.daemon(), None);
        assert_eq!(scene.call(&["daemon", "status"]).code, 1);
        assert!(scene.yard().is_some(), "the yard stays");
        assert!(kennel_testing::alive(scene.pid_of("agent")));
        assert_eq!(scene.session(&id)["phase"], "running");
        scene.call_ok(&["stop", &id]);
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

/// B9
#[test]
fn a_shutdown_ends_a_launch_in_progress_and_accepts_nothing_new() {
    let Some((scene, faults)) = scene_with_points(Who::Root, Pen::Cgroup) else { return };
    let bystander = Part::new("bystander", false);
    bystander.launch(&scene);
    faults.arm("keeper.go");
    let run = Part::new("subject", false).start(&scene);
    faults.wait_reached("keeper.go", TIMEOUT).expect("the launch is held");
    let stop = Running::start(scene.kennel(&["daemon", "stop"]));
    eventually("the bystander is being ended", || {
        scene.session("bystander")["wanted"] == "stopped"
    });
    let refused = Part::new("late", false).start(&scene).wait();
    assert_eq!(refused.code, 202, "{refused:?}");
    assert!(refused.stderr.contains("shutting down"), "{refused:?}");
    faults.disarm("keeper.go");
    let stop = stop.wait();
    assert_eq!(stop.code, 0, "{stop:?}");
    assert_ne!(run.wait().code, 0);
    eventually("no process is left", || scene.all_processes().is_empty());
    for name in ["bystander", "subject"] {
        assert_eq!(scene.session(name)["phase"], "cleaned");
    }
    scene.stop_daemon();
}

/// S8: a keeper hangs and can't be ended. (One test per pen: each takes as long as a shutdown may
/// take.)
mod a_shutdown_is_bounded_when_a_keeper_hangs {
    use super::*;

    #[test]
    fn in_a_cgroup_pen() {
        a_keeper_hangs(Pen::Cgroup);
    }

    #[test]
    fn in_a_subtree_pen() {
        a_keeper_hangs(Pen::Subtree);
    }
}

fn a_keeper_hangs(pen: Pen) {
    let Some(scene) = Scene::new(Who::Root, pen) else { return };
    let Some(group) = FreezerGroup::new(&scene) else { return };
    let id = scene.launch_ready(&["--grace", "200ms"], &["env-i"]);
    let keeper = scene.keeper().expect("a keeper");
    group.freeze(keeper);
    let begun = Instant::now();
    let stop = scene.call(&["daemon", "stop"]);
    assert_eq!(stop.code, 205, "{stop:?}");
    assert!(begun.elapsed() < Duration::from_secs(40), "{stop:?}");
    assert!(stop.stdout.contains(&keeper.to_string()), "{stop:?}");
    assert_eq!(scene.daemon(), None);
    for (pid, _) in scene.pids() {
        assert!(!kennel_testing::alive(pid), "its tree was ended without it");
    }
    group.thaw();
    eventually("no process is left", || scene.all_processes().is_empty());
    // The process that observed the subtree has ended too, so its end can't be proven.
    scene.wait_phase(&id, if pen == Pen::Cgroup { "cleaned" } else { "lost" });
    if pen == Pen::Subtree {
        scene.call_ok(&["forget", &id]);
    }
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

/// T6 (One test each: each waits until a stop gives up.)
mod a_frozen_process_is_named_owned_and_reaped_once_thawed {
    use super::*;

    #[test]
    fn after_a_stop_in_a_cgroup_pen() {
        a_process_is_frozen(Pen::Cgroup, false);
    }

    #[test]
    fn after_a_stop_in_a_subtree_pen() {
        a_process_is_frozen(Pen::Subtree, false);
    }

    #[test]
    fn after_a_shutdown_in_a_cgroup_pen() {
        a_process_is_frozen(Pen::Cgroup, true);
    }

    #[test]
    fn after_a_shutdown_in_a_subtree_pen() {
        a_process_is_frozen(Pen::Subtree, true);
    }
}

fn a_process_is_frozen(pen: Pen, by_daemon: bool) {
    let Some(scene) = Scene::new(Who::Root, pen) else { return };
    let Some(group) = FreezerGroup::new(&scene) else { return };
    let id = scene.launch_ready(&["--grace", "100ms"], &["setsid", "1"]);
    let frozen = scene.pid_of("leaf");
    group.freeze(frozen);
    let args: &[&str] = if by_daemon { &["daemon", "stop"] } else { &["stop", &id] };
    let stop = scene.call(args);
    assert_eq!(stop.code, 205, "{stop:?}");
    assert!(stop.stdout.contains("still alive"), "{stop:?}");
    assert!(stop.stdout.contains(&frozen.to_string()), "{stop:?}");
    assert!(stop.stdout.contains("uninterruptible"), "{stop:?}");
    assert!(scene.keeper().is_some(), "it is still owned");
    if !by_daemon {
        let session = scene.session(&id);
        assert_eq!(session["phase"], "stopping", "{session:#}");
        assert_eq!(session["survivors"][0]["pid"], frozen, "{session:#}");
    }
    group.thaw();
    let session = scene.wait_phase(&id, "cleaned");
    assert_eq!(session["survivors"], serde_json::json!([]), "{session:#}");
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

/// The yard dies during a restart: only the client is left to start the next daemon.
#[test]
fn a_restart_completes_although_the_yard_dies() {
    let Some((scene, faults)) = scene_with_points(Who::Root, Pen::Cgroup) else { return };
    let id = scene.launch_ready(&[], &["sleep"]);
    faults.arm("daemon.shutdown.now");
    let restart = Running::start(scene.kennel(&["daemon", "restart"]));
    let before = faults.wait_reached("daemon.shutdown.now", TIMEOUT).expect("it is about to exit");
    signal(scene.yard().expect("a yard"), "KILL");
    eventually("the yard is gone", || scene.yard().is_none());
    faults.disarm("daemon.shutdown.now");
    let restart = restart.wait();
    assert_eq!(restart.code, 0, "{restart:?}");
    assert!(scene.daemon().is_some_and(|pid| pid != before), "{restart:?}");
    assert_eq!(scene.session(&id)["phase"], "running");
    scene.call_ok(&["stop", &id]);
    scene.stop_daemon();
}

/// A request while one daemon replaces another is retried, because nothing was started.
#[test]
fn a_request_during_a_restart_succeeds() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    scene.call_ok(&["daemon", "start"]);
    std::thread::scope(|scope| {
        let restarts =
            scope.spawn(|| (0..5).map(|_| scene.call(&["daemon", "restart"]).code).max());
        let mut names = 0;
        while !restarts.is_finished() {
            names += 1;
            let name = format!("during-{names}");
            let ended = scene.call(&["run", "-d", "--name", &name, "--", "/bin/true"]);
            assert_eq!(ended.code, 0, "{}", ended.stderr);
            assert_eq!(scene.call(&["wait", &name]).code, 0);
        }
        assert_eq!(restarts.join().expect("it did not panic"), Some(0));
    });
    scene.stop_daemon();
}

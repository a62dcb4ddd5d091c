//! C3: after a kill between any two steps of creating or removing, the next daemon finds and
//! finishes it.

use std::time::Duration;

use kennel_testing::{Pen, Scene, Who, eventually, signal};

use super::Repo;
use crate::launch_and_cancel::scene_with_points;

const TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn a_daemon_that_is_killed_at_any_step_leaves_nothing() {
    for point in [
        "daemon.worktree.planned",
        "daemon.record.intent",
        "daemon.record.intent_saved",
        "daemon.worktree.make",
        "daemon.worktree.made",
        "daemon.launch.begun",
        "daemon.launch.fork_sent",
        "daemon.worktree.remove",
        "daemon.worktree.removed",
    ] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        let repo = Repo::new(&scene);
        scene.call_ok(&["daemon", "start"]);
        faults.arm(point);
        let run = repo.start(&["--worktree", "--name", "x"], "true");
        let there = faults.wait_reached(point, TIMEOUT);
        assert!(there.is_some(), "{point} is not passed");
        signal(scene.daemon().expect("a daemon"), "KILL");
        faults.disarm(point);
        let ended = run.wait();
        eventually("all has settled", || {
            scene.sessions().iter().all(|session| session["phase"] == "cleaned")
        });
        assert!(ended.code == 0 || !ended.stderr.is_empty(), "{point}: {ended:?}");
        repo.assert_settled();
        scene.assert_nothing_left_soon();
        scene.stop_daemon();
    }
}

/// B4: nothing is on record then, so a started worktree would be lost.
#[test]
fn a_client_that_disconnects_before_its_worktree_is_planned_gets_nothing() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    scene.call_ok(&["daemon", "start"]);
    let point = "daemon.worktree.planned";
    faults.arm(point);
    let run = repo.start(&["--worktree", "-d", "--name", "x"], "exec sleep 100");
    faults.wait_reached(point, TIMEOUT).expect("it is planned");
    run.signal("INT");
    let ended = run.wait();
    assert_eq!(ended.code, 130, "{ended:?}");
    faults.disarm(point);
    let other = repo.run(&["--worktree", "--name", "other"], "true");
    assert_eq!(other.code, 0, "{other:?}");
    let names: Vec<_> = scene.sessions().iter().map(|session| session["name"].clone()).collect();
    assert_eq!(names, ["other"]);
    repo.assert_settled();
    scene.stop_daemon();
}

/// The yard ends an orphaned git, and its leftovers are removed too.
#[test]
fn an_orphaned_git_is_ended_and_its_leftovers_are_removed() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let began = scene.path("work/began");
    repo.hook(&format!("touch {}; exec sleep 100", began.display()));
    let run = repo.start(&["--worktree", "-d", "--name", "x"], "true");
    eventually("the hook runs", || began.exists());
    signal(scene.daemon().expect("a daemon"), "KILL");
    let ended = run.wait();
    assert_ne!(ended.code, 0, "{ended:?}");
    let session = scene.wait_phase("x", "cleaned");
    assert_eq!(session["exit"]["kind"], "never_ran", "{session:#}");
    repo.assert_settled();
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

/// A git that is killed at once would leave its locks and block those branches.
#[test]
fn an_orphaned_git_releases_its_lock() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let (began, over) = (scene.path("work/began"), scene.path("work/over"));
    // References are locked while this runs: the session's branch and a foreign one.
    let hold = format!(
        "[ \"$1\" = prepared ] && [ ! -e {over} ] || exit 0\n\
         [ -n \"$INNER\" ] || INNER=1 exec git update-ref refs/heads/mine HEAD\n\
         touch {began}; exec sleep 100",
        began = began.display(),
        over = over.display()
    );
    repo.hook_at("reference-transaction", &hold);
    let run = repo.start(&["--worktree", "-d", "--name", "x"], "true");
    eventually("the hook runs", || began.exists());
    let locks = || repo.shell("find .git -name '*.lock'");
    assert!(locks().contains("refs/heads/mine.lock"), "{}", locks());
    std::fs::write(over, "").expect("a file");
    signal(scene.daemon().expect("a daemon"), "KILL");
    let ended = run.wait();
    assert_ne!(ended.code, 0, "{ended:?}");
    scene.wait_phase("x", "cleaned");
    assert_eq!(locks(), "", "a lock is left");
    repo.assert_settled();
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

/// The daemon shuts down while a session works in its worktree, and the next one removes it.
#[test]
fn the_next_daemon_removes_a_worktree() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let go = scene.path("work/go");
    let script = format!("while [ ! -e {} ]; do sleep 0.01; done", go.display());
    let run = repo.start(&["--worktree", "-d", "--name", "x"], &script).wait();
    assert_eq!(run.code, 0, "{run:?}");
    scene.call_ok(&["daemon", "restart"]);
    assert_eq!(repo.listed()[0]["state"], "in_use");
    std::fs::write(go, "").expect("a file");
    assert_eq!(scene.call(&["wait", "x"]).code, 0);
    repo.assert_settled();
    scene.stop_daemon();
}

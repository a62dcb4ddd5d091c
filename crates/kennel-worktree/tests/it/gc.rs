//! A concurrent `git gc`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kennel_worktree::{BranchOutcome, RemoveOutcome, remove};

use crate::scene::{Scene, write};

fn start_gc(scene: &Scene) -> Child {
    let mut gc = Command::new("git");
    gc.args(["gc", "-q", "--force"]).current_dir(&scene.repo);
    gc.env_clear().envs(scene.environment()).stderr(Stdio::null());
    gc.spawn().expect("git runs")
}

#[test]
fn the_repository_stays_valid_during_gc() {
    let scene = Scene::new();
    for number in 0..40 {
        scene.write("file", &format!("{number}\n"));
        scene.commit_all(&format!("commit {number}"));
    }
    for round in 0..5 {
        let mut gc = start_gc(&scene);
        let record = scene.worktree();
        write(&record.path, "file", &format!("of session {round}\n"));
        let own = scene.commit_in(&record.path, "of its own");
        assert_eq!(scene.kept(&record).len(), 1);
        let _status = gc.wait().expect("ended");
        let mut gc = start_gc(&scene);
        scene.git(&["update-ref", &format!("refs/tags/round{round}"), &own]);
        let removed = remove(&scene.tool(), &record).expect("no error");
        let _status = gc.wait().expect("ended");
        let outcome = BranchOutcome::Deleted { tip: own.clone() };
        assert_eq!(removed, RemoveOutcome::Gone { branch: outcome });
        // The gc may have created the entry again for its reflogs; the next gc removes it.
        scene.git(&["gc", "-q"]);
        scene.assert_nothing_left(&record);
        scene.assert_whole();
        scene.git(&["cat-file", "-e", &own]);
    }
}

/// A gc begins with `git worktree prune`. It removes the entry of a worktree that another git has
/// just begun to add.
#[test]
fn a_concurrent_prune_does_no_harm() {
    let scene = Scene::new();
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                scene.git(&["worktree", "prune"]);
            }
        });
        let result = catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..20 {
                let record = scene.worktree();
                assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
            }
        }));
        done.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic));
    });
    scene.assert_whole();
}

/// A session's whole tree is killed at its end, a running gc included.
#[test]
fn a_killed_gc_does_no_harm() {
    let scene = Scene::new();
    for number in 0..20 {
        scene.commit_all(&format!("commit {number}"));
    }
    let record = scene.worktree();
    let mut gc = start_gc(&scene);
    gc.kill().expect("killed");
    let _status = gc.wait().expect("ended");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

/// No call starts one in the background, even if there are many objects.
#[test]
fn starts_no_gc() {
    let scene = Scene::new();
    scene.git(&["config", "gc.auto", "1"]);
    scene.git(&["config", "gc.autoDetach", "false"]);
    let record = scene.worktree();
    let _fate = scene.gone(&record);
    assert!(!scene.repo.join(".git/objects/info/packs").exists(), "there was a gc");
}

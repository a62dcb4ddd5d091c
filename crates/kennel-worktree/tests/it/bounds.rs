//! Every call ends in time, and leaves no process.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kennel_testing::{alive, eventually};
use kennel_worktree::{
    BranchFate, GitError, Limits, LockError, MakeError, RemoveError, make, remove,
};

use crate::hooks::add_hook;
use crate::scene::Scene;

/// Writes its own pid and that of a child, and hangs.
fn hanging_hook(scene: &Scene) -> std::path::PathBuf {
    let pids = scene.at("pids");
    let text = format!(
        "sleep 600 & echo $! > '{0}.new'; echo $$ >> '{0}.new'; mv '{0}.new' '{0}'; wait",
        pids.display()
    );
    add_hook(scene, "post-checkout", &text);
    pids
}

#[track_caller]
fn assert_all_end(pids: &Path) {
    let text = fs::read_to_string(pids).expect("the hook ran");
    for pid in text.lines().map(|pid| pid.parse().expect("a pid")) {
        eventually("the hook's process is gone", || !alive(pid));
    }
}

#[test]
fn a_hook_that_hangs_is_ended_as_a_whole() {
    let scene = Scene::new();
    let pids = hanging_hook(&scene);
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let limits = Limits { make: Duration::from_secs(3), ..Limits::default() };
    let begun = Instant::now();
    let late = make(&scene.tool().with_limits(limits), &record).expect_err("late");
    assert!(matches!(late, MakeError::Git(GitError::Late { .. })), "{late:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_all_end(&pids);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

#[test]
fn one_that_is_not_wanted_any_more_is_ended() {
    let scene = Scene::new();
    let pids = hanging_hook(&scene);
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let cancel = Arc::new(AtomicBool::new(false));
    let tool = scene.tool().cancelled_by(cancel.clone());
    let made = std::thread::scope(|threads| {
        let made = threads.spawn(|| make(&tool, &record));
        eventually("the hook hangs", || pids.exists());
        cancel.store(true, Ordering::Relaxed);
        made.join().expect("no panic")
    });
    assert!(matches!(made, Err(MakeError::Git(GitError::Cancelled { .. }))), "{made:?}");
    assert_all_end(&pids);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

/// While one call is at work, another for the same worktree waits, and gives up in time.
#[test]
fn a_second_call_does_not_meddle() {
    let scene = Scene::new();
    let pids = hanging_hook(&scene);
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let cancel = Arc::new(AtomicBool::new(false));
    let tool = scene.tool().cancelled_by(cancel.clone());
    std::thread::scope(|threads| {
        let made = threads.spawn(|| make(&tool, &record));
        eventually("the hook hangs", || pids.exists());
        let limits = Limits { locks: Duration::from_millis(100), ..Limits::default() };
        let busy = remove(&scene.tool().with_limits(limits), &record).expect_err("busy");
        assert!(matches!(busy, RemoveError::Lock(LockError::Busy { .. })), "{busy:?}");
        cancel.store(true, Ordering::Relaxed);
        assert!(made.join().expect("no panic").is_err());
    });
    assert_all_end(&pids);
}

#[test]
fn what_a_hook_leaves_in_the_background_ends_too() {
    let scene = Scene::new();
    let pids = scene.at("pids");
    let text = format!("sleep 600 & echo $! > '{}'", pids.display());
    add_hook(&scene, "post-checkout", &text);
    let record = scene.made();
    assert_all_end(&pids);
    let _fate = scene.gone(&record);
}

/// More files than the list of changes may be long.
#[test]
fn a_great_many_changes_are_still_changes() {
    let scene = Scene::new();
    let record = scene.made();
    let folder = record.path.join("x".repeat(200));
    fs::create_dir(&folder).expect("a folder");
    let long = "y".repeat(240);
    for number in 0..20_000 {
        fs::write(folder.join(format!("{long}{number}")), "").expect("written");
    }
    let losses = kennel_worktree::losses(&scene.tool(), &record);
    assert!(
        losses.changes.more && losses.changes.untracked > 10_000,
        "{:?}",
        losses.changes.untracked
    );
    assert!(!scene.kept(&record).is_empty());
}

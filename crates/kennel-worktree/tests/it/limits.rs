//! Every call ends within its limits, and leaves no process.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kennel_testing::{alive, eventually};
use kennel_worktree::{
    BranchOutcome, CreateWorktreeError, GitError, GitLimits, LockError, RemoveWorktreeError,
    create, remove,
};

use crate::hooks::add_hook;
use crate::scene::Scene;

/// Creates a hook that writes its pid and that of a child, and hangs.
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
fn ends_a_hanging_hook_with_its_children() {
    let scene = Scene::new();
    let pids = hanging_hook(&scene);
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let limits = GitLimits { create: Duration::from_secs(3), ..GitLimits::default() };
    let begun = Instant::now();
    let late = create(&scene.tool().with_limits(limits), &record).expect_err("late");
    assert!(matches!(late, CreateWorktreeError::Git(GitError::TimedOut { .. })), "{late:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_all_end(&pids);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn ends_a_cancelled_call() {
    let scene = Scene::new();
    let pids = hanging_hook(&scene);
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let cancel = Arc::new(AtomicBool::new(false));
    let tool = scene.tool().cancelled_by(cancel.clone());
    let made = std::thread::scope(|threads| {
        let made = threads.spawn(|| create(&tool, &record));
        eventually("the hook hangs", || pids.exists());
        cancel.store(true, Ordering::Relaxed);
        made.join().expect("no panic")
    });
    assert!(matches!(made, Err(CreateWorktreeError::Git(GitError::Cancelled { .. }))), "{made:?}");
    assert_all_end(&pids);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn a_second_call_waits_until_its_timeout() {
    let scene = Scene::new();
    let pids = hanging_hook(&scene);
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let cancel = Arc::new(AtomicBool::new(false));
    let tool = scene.tool().cancelled_by(cancel.clone());
    std::thread::scope(|threads| {
        let made = threads.spawn(|| create(&tool, &record));
        eventually("the hook hangs", || pids.exists());
        let limits = GitLimits { locks: Duration::from_millis(100), ..GitLimits::default() };
        let busy = remove(&scene.tool().with_limits(limits), &record).expect_err("busy");
        assert!(matches!(busy, RemoveWorktreeError::Lock(LockError::Busy { .. })), "{busy:?}");
        cancel.store(true, Ordering::Relaxed);
        assert!(made.join().expect("no panic").is_err());
    });
    assert_all_end(&pids);
}

#[test]
fn ends_background_processes_of_hooks() {
    let scene = Scene::new();
    let pids = scene.at("pids");
    let text = format!("sleep 600 & echo $! > '{}'", pids.display());
    add_hook(&scene, "post-checkout", &text);
    let record = scene.worktree();
    assert_all_end(&pids);
    let _fate = scene.gone(&record);
}

/// The list of changes exceeds its limit.
#[test]
fn keeps_a_worktree_with_very_many_changes() {
    let scene = Scene::new();
    let record = scene.worktree();
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

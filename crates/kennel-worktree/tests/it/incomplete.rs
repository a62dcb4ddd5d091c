//! Every state that a crash can leave: the next creation or removal completes it.

use std::fs;
use std::path::{Path, PathBuf};

use kennel_testing::eventually;
use kennel_worktree::{BranchOutcome, DiskState, WorktreeRecord, inspect, losses};

use crate::scene::{Scene, write};

fn entry(record: &WorktreeRecord) -> PathBuf {
    record.repo.join("worktrees").join(record.path.file_name().expect("a name"))
}

fn mark(record: &WorktreeRecord) -> String {
    format!("kennel {}: being made", record.session)
}

fn make_lock(record: &WorktreeRecord) {
    fs::create_dir_all(record.path.parent().expect("a parent")).expect("a folder");
    fs::write(record.path.with_file_name(lock_name(record)), "").expect("written");
}

fn lock_name(record: &WorktreeRecord) -> String {
    format!("{}.lock", record.path.file_name().expect("a name").to_string_lossy())
}

fn make_branch(scene: &Scene, record: &WorktreeRecord) {
    make_lock(record);
    scene.git(&["branch", &record.branch, &record.base]);
}

fn begin_entry(scene: &Scene, record: &WorktreeRecord) {
    make_branch(scene, record);
    fs::create_dir_all(entry(record)).expect("a folder");
}

fn lock_entry(scene: &Scene, record: &WorktreeRecord) {
    begin_entry(scene, record);
    fs::write(entry(record).join("locked"), mark(record)).expect("written");
}

fn begin_folder(scene: &Scene, record: &WorktreeRecord) {
    lock_entry(scene, record);
    fs::create_dir_all(&record.path).expect("a folder");
    let link = record.path.join(".git");
    fs::write(entry(record).join("gitdir"), format!("{}\n", link.display())).expect("written");
}

fn half_checked_out(scene: &Scene, record: &WorktreeRecord) {
    begin_folder(scene, record);
    write(&record.path, ".git", &format!("gitdir: {}\n", entry(record).display()));
    write(&entry(record), "HEAD", &format!("ref: refs/heads/{}\n", record.branch));
    write(&entry(record), "commondir", "../..\n");
    write(&entry(record), "index.lock", "DIRC");
    write(&record.path, "file", "on");
}

fn not_unlocked(scene: &Scene, record: &WorktreeRecord) {
    scene.create(record);
    fs::write(entry(record).join("locked"), mark(record)).expect("written");
}

type Step = fn(&Scene, &WorktreeRecord);
const HALF_MADE: [(&str, Step); 7] = [
    ("only the lock file", |_, record| make_lock(record)),
    ("the branch", make_branch),
    ("an empty entry", begin_entry),
    ("a locked entry", lock_entry),
    ("an empty folder", begin_folder),
    ("half checked out", half_checked_out),
    ("whole, but not unlocked", not_unlocked),
];

#[test]
fn removes_an_incomplete_worktree() {
    for (name, step) in HALF_MADE {
        let scene = Scene::new();
        let record = scene.plan(&scene.repo, None).expect("a plan").record;
        step(&scene, &record);
        assert!(losses(&scene.tool(), &record).is_nothing(), "{name}");
        let outcome = scene.gone(&record);
        assert!(
            matches!(outcome, BranchOutcome::Deleted { .. } | BranchOutcome::Absent),
            "{name}: {outcome:?}"
        );
        assert!(!scene.has_branch(&record.branch), "{name}");
    }
}

#[test]
fn completes_an_incomplete_worktree() {
    for (name, step) in HALF_MADE {
        let scene = Scene::new();
        let record = scene.plan(&scene.repo, None).expect("a plan").record;
        step(&scene, &record);
        scene.create(&record);
        let found = inspect(&scene.tool(), &record).expect("judged");
        assert_eq!(found.state, DiskState::Complete, "{name}");
        assert!(found.changes.is_none() && found.locked.is_none(), "{name}: {found:?}");
        let _fate = scene.gone(&record);
    }
}

fn removal_folder(record: &WorktreeRecord) -> PathBuf {
    let name = record.path.file_name().expect("a name").to_string_lossy();
    record.path.with_file_name(format!("{name}.removing"))
}

fn remove_some(folder: &Path) {
    fs::remove_file(folder.join("file")).expect("removed");
    fs::remove_file(folder.join(".git")).expect("removed");
}

type Change = fn(&WorktreeRecord);

#[test]
fn completes_an_interrupted_removal() {
    let steps: [(&str, Change); 4] = [
        ("renamed", |record| fs::rename(&record.path, removal_folder(record)).expect("renamed")),
        ("half emptied", |record| {
            fs::rename(&record.path, removal_folder(record)).expect("renamed");
            remove_some(&removal_folder(record));
        }),
        ("half an entry", |record| {
            fs::remove_dir_all(&record.path).expect("removed");
            fs::create_dir(removal_folder(record)).expect("a folder");
            fs::remove_file(entry(record).join("HEAD")).expect("removed");
            fs::remove_file(entry(record).join("gitdir")).expect("removed");
        }),
        ("all but the branch", |record| {
            fs::remove_dir_all(&record.path).expect("removed");
            fs::create_dir(removal_folder(record)).expect("a folder");
            fs::remove_dir_all(entry(record)).expect("removed");
        }),
    ];
    for (name, step) in steps {
        let scene = Scene::new();
        let record = scene.worktree();
        step(&record);
        let outcome = scene.gone(&record);
        assert!(matches!(outcome, BranchOutcome::Deleted { .. }), "{name}: {outcome:?}");
    }
}

/// A killed git left the lock: one of ours, or the session's during a commit. The lock of a user's
/// branch is removed too, because it would block the user.
#[test]
fn removes_a_stale_lock_of_the_branch() {
    let scene = Scene::new();
    scene.git(&["branch", "topic"]);
    for branch in [None, Some("topic")] {
        let record = scene.worktree_on(branch);
        let lock = record.repo.join(format!("refs/heads/{}.lock", record.branch));
        write_old(&lock);
        let outcome = scene.gone(&record);
        assert_eq!(outcome == BranchOutcome::NotOurs, branch.is_some(), "{outcome:?}");
        assert!(!lock.exists());
    }
}

fn write_old(lock: &Path) {
    let file = fs::File::create(lock).expect("made");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(long_ago).expect("set back");
}

/// Any git may hold the lock of packed references. It counts as ours only if a removal was
/// interrupted and it is old.
#[test]
fn removes_a_stale_lock_of_packed_references_after_a_crash() {
    use kennel_worktree::{GitLimits, RemoveWorktreeError, remove};

    let scene = Scene::new();
    let record = scene.worktree();
    let lock = record.repo.join("packed-refs.lock");
    write_old(&lock);
    let locks = std::time::Duration::from_millis(300);
    let hasty = scene.tool().with_limits(GitLimits { locks, ..GitLimits::default() });
    let failed = remove(&hasty, &record).expect_err("locked");
    assert!(matches!(failed, RemoveWorktreeError::Git(_)), "{failed:?}");
    assert!(lock.exists() && scene.has_branch(&record.branch), "it is owed");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert!(!lock.exists());
}

/// Another git holds the lock, and releases it.
#[test]
fn waits_for_a_lock_of_the_branch_in_use() {
    let scene = Scene::new();
    let record = scene.worktree();
    let lock = record.repo.join(format!("refs/heads/{}.lock", record.branch));
    fs::write(&lock, "").expect("written");
    std::thread::scope(|threads| {
        let removed = threads.spawn(|| scene.gone(&record));
        eventually("it is being removed", || !record.path.exists());
        assert!(lock.exists() && scene.has_branch(&record.branch));
        fs::remove_file(&lock).expect("still there");
        assert!(matches!(removed.join().expect("no panic"), BranchOutcome::Deleted { .. }));
    });
}

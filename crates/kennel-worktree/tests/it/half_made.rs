//! Every state that a crash can leave, made by hand: found and settled, by another try or by removal.

use std::fs;
use std::path::{Path, PathBuf};

use kennel_testing::eventually;
use kennel_worktree::{BranchFate, Record, Standing, judge, losses};

use crate::scene::{Scene, write};

fn entry(record: &Record) -> PathBuf {
    record.repo.join("worktrees").join(record.path.file_name().expect("a name"))
}

fn mark(record: &Record) -> String {
    format!("kennel {}: being made", record.session)
}

fn make_lock(record: &Record) {
    fs::create_dir_all(record.path.parent().expect("a place")).expect("a folder");
    fs::write(record.path.with_file_name(lock_name(record)), "").expect("written");
}

fn lock_name(record: &Record) -> String {
    format!("{}.lock", record.path.file_name().expect("a name").to_string_lossy())
}

fn make_branch(scene: &Scene, record: &Record) {
    make_lock(record);
    scene.git(&["branch", &record.branch, &record.base]);
}

fn begin_entry(scene: &Scene, record: &Record) {
    make_branch(scene, record);
    fs::create_dir_all(entry(record)).expect("a folder");
}

fn lock_entry(scene: &Scene, record: &Record) {
    begin_entry(scene, record);
    fs::write(entry(record).join("locked"), mark(record)).expect("written");
}

fn begin_folder(scene: &Scene, record: &Record) {
    lock_entry(scene, record);
    fs::create_dir_all(&record.path).expect("a folder");
    let link = record.path.join(".git");
    fs::write(entry(record).join("gitdir"), format!("{}\n", link.display())).expect("written");
}

fn half_checked_out(scene: &Scene, record: &Record) {
    begin_folder(scene, record);
    write(&record.path, ".git", &format!("gitdir: {}\n", entry(record).display()));
    write(&entry(record), "HEAD", &format!("ref: refs/heads/{}\n", record.branch));
    write(&entry(record), "commondir", "../..\n");
    write(&entry(record), "index.lock", "DIRC");
    write(&record.path, "file", "on");
}

fn not_unlocked(scene: &Scene, record: &Record) {
    scene.make(record);
    fs::write(entry(record).join("locked"), mark(record)).expect("written");
}

type Step = fn(&Scene, &Record);
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
fn what_was_half_made_is_removed() {
    for (name, step) in HALF_MADE {
        let scene = Scene::new();
        let record = scene.plan(&scene.repo, None).expect("a plan").record;
        step(&scene, &record);
        assert!(losses(&scene.tool(), &record).is_nothing(), "{name}");
        let fate = scene.gone(&record);
        assert!(
            matches!(fate, BranchFate::Deleted { .. } | BranchFate::Absent),
            "{name}: {fate:?}"
        );
        assert!(!scene.has_branch(&record.branch), "{name}");
    }
}

#[test]
fn what_was_half_made_is_completed() {
    for (name, step) in HALF_MADE {
        let scene = Scene::new();
        let record = scene.plan(&scene.repo, None).expect("a plan").record;
        step(&scene, &record);
        scene.make(&record);
        let found = judge(&scene.tool(), &record).expect("judged");
        assert_eq!(found.standing, Standing::Whole, "{name}");
        assert!(found.changes.is_none() && found.locked.is_none(), "{name}: {found:?}");
        let _fate = scene.gone(&record);
    }
}

fn condemned(record: &Record) -> PathBuf {
    let name = record.path.file_name().expect("a name").to_string_lossy();
    record.path.with_file_name(format!("{name}.removing"))
}

fn remove_some(folder: &Path) {
    fs::remove_file(folder.join("file")).expect("removed");
    fs::remove_file(folder.join(".git")).expect("removed");
}

type Change = fn(&Record);

#[test]
fn what_was_half_removed_is_removed() {
    let steps: [(&str, Change); 4] = [
        ("renamed", |record| fs::rename(&record.path, condemned(record)).expect("renamed")),
        ("half emptied", |record| {
            fs::rename(&record.path, condemned(record)).expect("renamed");
            remove_some(&condemned(record));
        }),
        ("half an entry", |record| {
            fs::remove_dir_all(&record.path).expect("removed");
            fs::create_dir(condemned(record)).expect("a folder");
            fs::remove_file(entry(record).join("HEAD")).expect("removed");
            fs::remove_file(entry(record).join("gitdir")).expect("removed");
        }),
        ("all but the branch", |record| {
            fs::remove_dir_all(&record.path).expect("removed");
            fs::create_dir(condemned(record)).expect("a folder");
            fs::remove_dir_all(entry(record)).expect("removed");
        }),
    ];
    for (name, step) in steps {
        let scene = Scene::new();
        let record = scene.made();
        step(&record);
        let fate = scene.gone(&record);
        assert!(matches!(fate, BranchFate::Deleted { .. }), "{name}: {fate:?}");
    }
}

/// A lock file of the branch's, left by a git that was killed: by one of ours, or by the session's in the middle of a
/// commit. It goes, also if the branch is the user's, who could not use it any more.
#[test]
fn a_stale_lock_of_the_branch_goes() {
    let scene = Scene::new();
    scene.git(&["branch", "topic"]);
    for branch in [None, Some("topic")] {
        let record = scene.made_on(branch);
        let lock = record.repo.join(format!("refs/heads/{}.lock", record.branch));
        write_old(&lock);
        let fate = scene.gone(&record);
        assert_eq!(fate == BranchFate::NotOurs, branch.is_some(), "{fate:?}");
        assert!(!lock.exists());
    }
}

fn write_old(lock: &Path) {
    let file = fs::File::create(lock).expect("made");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(long_ago).expect("set back");
}

/// The lock of all packed references may be anybody's. Only if a removal of ours was interrupted, and it is old, it is
/// taken for ours.
#[test]
fn a_stale_lock_of_packed_references_goes_after_a_crash() {
    use kennel_worktree::{Limits, RemoveError, remove};

    let scene = Scene::new();
    let record = scene.made();
    let lock = record.repo.join("packed-refs.lock");
    write_old(&lock);
    let locks = std::time::Duration::from_millis(300);
    let hasty = scene.tool().with_limits(Limits { locks, ..Limits::default() });
    let failed = remove(&hasty, &record).expect_err("locked");
    assert!(matches!(failed, RemoveError::Git(_)), "{failed:?}");
    assert!(lock.exists() && scene.has_branch(&record.branch), "it is owed");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert!(!lock.exists());
}

/// One that is let go meanwhile was somebody's, and is waited for.
#[test]
fn a_lock_of_the_branch_in_use_is_waited_for() {
    let scene = Scene::new();
    let record = scene.made();
    let lock = record.repo.join(format!("refs/heads/{}.lock", record.branch));
    fs::write(&lock, "").expect("written");
    std::thread::scope(|threads| {
        let removed = threads.spawn(|| scene.gone(&record));
        eventually("it is being removed", || !record.path.exists());
        assert!(lock.exists() && scene.has_branch(&record.branch));
        fs::remove_file(&lock).expect("still there");
        assert!(matches!(removed.join().expect("no panic"), BranchFate::Deleted { .. }));
    });
}

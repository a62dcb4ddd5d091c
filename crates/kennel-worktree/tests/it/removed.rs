//! A worktree without anything of value is removed with its branch.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use kennel_worktree::{BranchOutcome, Checkout, RemoveOutcome, create, remove};

use crate::scene::{SESSION, Scene, write};

#[test]
fn removes_an_unchanged_worktree_with_its_branch() {
    let scene = Scene::new();
    let plan = scene.plan(&scene.repo, None).expect("a plan");
    assert_eq!(plan.checkout, Checkout::Clean);
    assert_eq!(plan.record.base, scene.git(&["rev-parse", "HEAD"]));
    assert!(!scene.parent.exists(), "a plan makes nothing");
    assert!(!scene.has_branch("kennel/*"), "a plan makes nothing");
    let record = plan.record;
    let made = scene.create(&record);
    assert_eq!(made.cwd, record.path);
    assert_eq!(record.branch, format!("kennel/{SESSION}"));
    assert_eq!(fs::read_to_string(record.path.join("file")).expect("checked out"), "one\n");
    assert_eq!(scene.git_in(&record.path, &["branch", "--show-current"]), record.branch);
    assert_eq!(
        scene.git_in(&record.path, &["worktree", "list", "--porcelain"]).matches("locked").count(),
        0
    );
    let tip = record.base.clone();
    assert_eq!(scene.gone(&record), BranchOutcome::Deleted { tip });
    assert!(!scene.has_branch("kennel/*"));
}

#[test]
fn create_and_remove_can_be_repeated() {
    let scene = Scene::new();
    let record = scene.worktree();
    assert_eq!(scene.create(&record).path, record.path, "made twice");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert_eq!(scene.gone(&record), BranchOutcome::Absent);
    assert_eq!(scene.gone(&record), BranchOutcome::Absent);
}

#[test]
fn removes_nothing_before_the_creation() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    assert_eq!(scene.gone(&record), BranchOutcome::Absent);
}

#[test]
fn removes_ignored_files() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "ignored/deep/thing", "built");
    write(&record.path, "main.o", "built");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn ignores_changes_of_the_main_checkout() {
    let scene = Scene::new();
    scene.write("file", "two\n");
    scene.write("new", "new\n");
    let plan = scene.plan(&scene.repo, None).expect("a plan");
    assert_eq!(plan.checkout, Checkout::Dirty);
    let record = plan.record;
    scene.create(&record);
    assert_eq!(fs::read_to_string(record.path.join("file")).expect("there"), "one\n");
    assert!(!record.path.join("new").exists());
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert_eq!(fs::read_to_string(scene.repo.join("file")).expect("there"), "two\n");
}

#[test]
fn starts_in_the_same_subfolder() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo.join("sub folder"), None).expect("a plan").record;
    assert_eq!(scene.create(&record).cwd, record.path.join("sub folder"));
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    // A subfolder that the commit doesn't have.
    fs::create_dir(scene.repo.join("new folder")).expect("a folder");
    let record = scene.plan(&scene.repo.join("new folder"), None).expect("a plan").record;
    assert_eq!(scene.create(&record).cwd, record.path);
}

#[test]
fn creates_a_worktree_from_another_worktree() {
    let scene = Scene::new();
    let other = scene.at("other");
    scene.git(&["worktree", "add", "-q", "-b", "other", other.to_str().expect("text")]);
    let own = scene.commit_in(&other, "of the other");
    let record = scene.plan(&other.join("sub folder"), None).expect("a plan").record;
    assert_eq!((&record.base, &record.repo), (&own, &scene.repo.join(".git")));
    scene.create(&record);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert!(other.join("file").exists());
}

/// Go's module cache, for example, is read-only.
#[test]
fn removes_read_only_folders() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "ignored/mod/cache/file", "x");
    write(&record.path, "ignored/closed/file", "x");
    write(&record.path, "ignored/dark/deep/file", "x");
    let closed = [
        ("ignored/mod/cache", 0o555),
        ("ignored/mod", 0o555),
        ("ignored/closed", 0o500),
        ("ignored/dark/deep", 0o400),
    ];
    for (folder, mode) in closed {
        let folder = record.path.join(folder);
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("closed");
    }
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

/// Root can write everywhere, so this runs the test above as another user.
#[test]
fn removes_read_only_folders_as_another_user() {
    const NOBODY: u32 = 65534;
    if !kennel_testing::is_root() {
        return; // the test above ran as another user
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("it");
    fs::copy(std::env::current_exe().expect("a path"), &program).expect("a copy");
    for path in [folder.path(), &program] {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("owner changed");
    }
    let run = Command::new(&program)
        .args(["--exact", "removed::removes_read_only_folders"])
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("started");
    let output_text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && output_text.contains("1 passed"), "{output_text}");
}

#[test]
fn removes_a_worktree_without_its_folder() {
    let scene = Scene::new();
    let record = scene.worktree();
    fs::remove_dir_all(&record.path).expect("removed");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn accepts_a_removal_by_the_user() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.commit_in(&record.path, "kept on the branch");
    scene.git(&["worktree", "remove", record.path.to_str().expect("text")]);
    assert_eq!(scene.gone(&record), BranchOutcome::HasCommits);
    assert!(scene.has_branch(&record.branch));
}

#[test]
fn accepts_a_missing_repository_and_folder() {
    let scene = Scene::new();
    let record = scene.worktree();
    fs::remove_dir_all(&record.path).expect("removed");
    fs::remove_dir_all(&scene.repo).expect("removed");
    assert_eq!(scene.gone(&record), BranchOutcome::Absent);
}

#[test]
fn keeps_other_worktrees_on_unmounted_disks() {
    let scene = Scene::new();
    let record = scene.worktree();
    let (other, aside) = (scene.at("other"), scene.at("aside"));
    scene.git(&["worktree", "add", "-q", "-b", "other", other.to_str().expect("text")]);
    fs::rename(&other, &aside).expect("as if not mounted");
    let removed = remove(&scene.tool(), &record).expect("removed");
    assert!(matches!(removed, RemoveOutcome::Gone { .. }));
    fs::rename(&aside, &other).expect("mounted again");
    scene.assert_nothing_left(&record);
    assert_eq!(scene.git_in(&other, &["status", "--porcelain"]), "");
}

#[test]
fn removes_the_settings_of_the_branch() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.git_in(&record.path, &["branch", "--set-upstream-to=main", "-q"]);
    let _fate = scene.gone(&record);
    assert!(
        !fs::read_to_string(scene.repo.join(".git/config")).expect("there").contains("kennel/")
    );
}

#[test]
fn needs_only_the_record() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let text = serde_json::to_string(&record).expect("written");
    let record = serde_json::from_str(&text).expect("read");
    create(&scene.tool(), &record).expect("made");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

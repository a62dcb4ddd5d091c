//! What has nothing of value goes, and its branch with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use kennel_worktree::{BranchFate, Checkout, Removed, StartsFrom, make, remove};

use crate::scene::{SESSION, Scene, write};

#[test]
fn an_untouched_one_goes_with_its_branch() {
    let scene = Scene::new();
    let plan = scene.plan(&scene.repo, None).expect("a plan");
    assert_eq!((plan.checkout, &plan.starts_from), (Checkout::Clean, &StartsFrom::Head));
    assert!(!scene.place.exists(), "a plan makes nothing");
    assert!(!scene.has_branch("kennel/*"), "a plan makes nothing");
    let record = plan.record;
    let made = scene.make(&record);
    assert_eq!(made.cwd, record.path);
    assert_eq!(record.branch, format!("kennel/{SESSION}"));
    assert_eq!(fs::read_to_string(record.path.join("file")).expect("checked out"), "one\n");
    assert_eq!(scene.git_in(&record.path, &["branch", "--show-current"]), record.branch);
    assert_eq!(
        scene.git_in(&record.path, &["worktree", "list", "--porcelain"]).matches("locked").count(),
        0
    );
    let tip = record.base.clone();
    assert_eq!(scene.gone(&record), BranchFate::Deleted { tip });
    assert!(!scene.has_branch("kennel/*"));
}

#[test]
fn twice_is_as_good_as_once() {
    let scene = Scene::new();
    let record = scene.made();
    assert_eq!(scene.make(&record).path, record.path, "made twice");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert_eq!(scene.gone(&record), BranchFate::Absent);
    assert_eq!(scene.gone(&record), BranchFate::Absent);
}

#[test]
fn before_anything_was_made_there_is_nothing_to_remove() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    assert_eq!(scene.gone(&record), BranchFate::Absent);
}

#[test]
fn what_is_ignored_goes() {
    let scene = Scene::new();
    let record = scene.made();
    write(&record.path, "ignored/deep/thing", "built");
    write(&record.path, "main.o", "built");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

#[test]
fn the_main_checkout_may_have_changes() {
    let scene = Scene::new();
    scene.write("file", "two\n");
    scene.write("new", "new\n");
    let plan = scene.plan(&scene.repo, None).expect("a plan");
    assert_eq!(plan.checkout, Checkout::Dirty);
    let record = plan.record;
    scene.make(&record);
    assert_eq!(fs::read_to_string(record.path.join("file")).expect("there"), "one\n");
    assert!(!record.path.join("new").exists());
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert_eq!(fs::read_to_string(scene.repo.join("file")).expect("there"), "two\n");
}

#[test]
fn a_subfolder_is_the_same_one_in_the_worktree() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo.join("sub folder"), None).expect("a plan").record;
    assert_eq!(scene.make(&record).cwd, record.path.join("sub folder"));
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    // One that the commit does not have.
    fs::create_dir(scene.repo.join("new folder")).expect("a folder");
    let record = scene.plan(&scene.repo.join("new folder"), None).expect("a plan").record;
    assert_eq!(scene.make(&record).cwd, record.path);
}

#[test]
fn from_within_another_worktree() {
    let scene = Scene::new();
    let other = scene.at("other");
    scene.git(&["worktree", "add", "-q", "-b", "other", other.to_str().expect("text")]);
    let own = scene.commit_in(&other, "of the other");
    let record = scene.plan(&other.join("sub folder"), None).expect("a plan").record;
    assert_eq!((&record.base, &record.repo), (&own, &scene.repo.join(".git")));
    scene.make(&record);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert!(other.join("file").exists());
}

/// Go's module cache is read-only.
#[test]
fn read_only_folders_go_too() {
    let scene = Scene::new();
    let record = scene.made();
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
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

/// Root needs no leave to write, so the test above is run once more as somebody else.
#[test]
fn read_only_folders_go_too_as_another_user() {
    const NOBODY: u32 = 65534;
    if !kennel_testing::is_root() {
        return; // the test above was run so
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("it");
    fs::copy(std::env::current_exe().expect("a path"), &program).expect("a copy");
    for path in [folder.path(), &program] {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("given away");
    }
    let run = Command::new(&program)
        .args(["--exact", "removed::read_only_folders_go_too"])
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("started");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn the_folder_may_be_gone_already() {
    let scene = Scene::new();
    let record = scene.made();
    fs::remove_dir_all(&record.path).expect("removed");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

#[test]
fn the_user_may_have_removed_it() {
    let scene = Scene::new();
    let record = scene.made();
    scene.commit_in(&record.path, "kept on the branch");
    scene.git(&["worktree", "remove", record.path.to_str().expect("text")]);
    assert_eq!(scene.gone(&record), BranchFate::HasCommits);
    assert!(scene.has_branch(&record.branch));
}

#[test]
fn the_repository_may_be_gone_with_the_folder() {
    let scene = Scene::new();
    let record = scene.made();
    fs::remove_dir_all(&record.path).expect("removed");
    fs::remove_dir_all(&scene.repo).expect("removed");
    assert_eq!(scene.gone(&record), BranchFate::Absent);
}

#[test]
fn others_whose_disk_is_not_there_are_left_alone() {
    let scene = Scene::new();
    let record = scene.made();
    let (other, aside) = (scene.at("other"), scene.at("aside"));
    scene.git(&["worktree", "add", "-q", "-b", "other", other.to_str().expect("text")]);
    fs::rename(&other, &aside).expect("as if not mounted");
    let removed = remove(&scene.tool(), &record).expect("removed");
    assert!(matches!(removed, Removed::Gone { .. }));
    fs::rename(&aside, &other).expect("mounted again");
    scene.assert_nothing_left(&record);
    assert_eq!(scene.git_in(&other, &["status", "--porcelain"]), "");
}

#[test]
fn settings_of_the_branch_go_with_it() {
    let scene = Scene::new();
    let record = scene.made();
    scene.git_in(&record.path, &["branch", "--set-upstream-to=main", "-q"]);
    let _fate = scene.gone(&record);
    assert!(
        !fs::read_to_string(scene.repo.join(".git/config")).expect("there").contains("kennel/")
    );
}

#[test]
fn a_record_is_all_that_is_needed() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let text = serde_json::to_string(&record).expect("written");
    let record = serde_json::from_str(&text).expect("read");
    make(&scene.tool(), &record).expect("made");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

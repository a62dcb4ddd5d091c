//! Uncommitted changes are kept.

use std::fs;

use kennel_worktree::{
    KeepReason, Operation, UncommittedChanges, WorktreeRecord, force_remove, losses,
};

use crate::scene::{Scene, write};

#[track_caller]
fn changes(scene: &Scene, record: &WorktreeRecord) -> UncommittedChanges {
    match scene.kept(record).as_slice() {
        [KeepReason::Changes(changes)] => changes.clone(),
        why => panic!("{why:?}"),
    }
}

#[test]
fn keeps_a_modified_file() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "file", "two\n");
    assert_eq!(changes(&scene, &record).modified, 1);
    write(&record.path, "file", "one\n");
    let _fate = scene.gone(&record);
}

#[test]
fn keeps_a_staged_file() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "file", "two\n");
    scene.git_in(&record.path, &["add", "file"]);
    assert_eq!(changes(&scene, &record).staged, 1);
}

#[test]
fn keeps_a_deleted_file() {
    let scene = Scene::new();
    let record = scene.worktree();
    fs::remove_file(record.path.join("file")).expect("removed");
    assert_eq!(changes(&scene, &record).modified, 1);
}

#[test]
fn keeps_an_untracked_file() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "deep/new", "new\n");
    // Neither setting hides the file.
    scene.git(&["config", "status.showUntrackedFiles", "no"]);
    let found = changes(&scene, &record);
    assert_eq!((found.untracked, found.some), (1, vec!["deep/new".into()]));
}

#[test]
fn keeps_files_hidden_from_git() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.git_in(&record.path, &["update-index", "--assume-unchanged", "file"]);
    write(&record.path, "file", "secretly changed\n");
    assert_eq!(changes(&scene, &record).hidden, 1);
    scene.git_in(&record.path, &["update-index", "--no-assume-unchanged", "file"]);
    scene.git_in(&record.path, &["update-index", "--skip-worktree", "file"]);
    assert_eq!(changes(&scene, &record).hidden, 1);
}

#[test]
fn keeps_files_without_their_git_link() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "file", "two\n");
    fs::remove_file(record.path.join(".git")).expect("removed");
    assert_eq!(changes(&scene, &record).modified, 1);
}

#[test]
fn keeps_a_merge_in_conflict() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "file", "theirs\n");
    scene.commit_in(&record.path, "theirs");
    scene.write("file", "ours\n");
    scene.commit_all("ours");
    scene.git(&["branch", "-f", "copy", &record.branch]);
    let status = std::process::Command::new("git")
        .args(["merge", "-q", "main"])
        .current_dir(&record.path)
        .env_clear()
        .envs(scene.environment())
        .output()
        .expect("git runs")
        .status;
    assert!(!status.success(), "a conflict");
    let why = scene.kept(&record);
    assert!(
        matches!(why[0], KeepReason::Changes(ref changes) if changes.conflicted == 1),
        "{why:?}"
    );
    assert!(why.contains(&KeepReason::Operation(Operation::Merge)), "{why:?}");
    scene.git_in(&record.path, &["merge", "--abort"]);
    let _fate = scene.gone(&record);
}

#[test]
fn keeps_a_bisection() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.git_in(&record.path, &["bisect", "start"]);
    assert_eq!(scene.kept(&record), [KeepReason::Operation(Operation::Bisect)]);
}

#[test]
fn keeps_a_worktree_that_the_user_locked() {
    let scene = Scene::new();
    let record = scene.worktree();
    let path = record.path.to_str().expect("text");
    scene.git(&["worktree", "lock", "--reason", "mine", path]);
    assert_eq!(scene.kept(&record), [KeepReason::Locked("mine".to_owned())]);
    scene.git(&["worktree", "unlock", path]);
    let _fate = scene.gone(&record);
}

#[test]
fn keeps_references_of_its_own() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.git_in(&record.path, &["update-ref", "refs/worktree/mine", "HEAD"]);
    assert_eq!(scene.kept(&record), [KeepReason::OwnRefs(1)]);
}

#[test]
fn a_stash_stays_in_the_repository() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "file", "two\n");
    scene.git_in(&record.path, &["stash", "-q"]);
    let _fate = scene.gone(&record);
    scene.git(&["stash", "pop", "-q"]);
    assert_eq!(fs::read_to_string(scene.repo.join("file")).expect("there"), "two\n");
}

#[test]
fn force_remove_returns_what_is_lost() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.commit_in(&record.path, "of its own");
    write(&record.path, "file", "two\n");
    write(&record.path, "new", "new\n");
    let listed = losses(&scene.tool(), &record);
    assert_eq!((listed.changes.modified, listed.changes.untracked), (1, 1));
    assert_eq!(
        (listed.commits.count, listed.commits.newest[0].subject.as_str()),
        (1, "of its own")
    );
    assert!(record.path.join("new").exists(), "listing the losses removes nothing");
    let lost = force_remove(&scene.tool(), &record).expect("removed");
    assert_eq!(lost, listed);
    scene.assert_nothing_left(&record);
    assert!(!scene.has_branch(&record.branch));
    assert!(losses(&scene.tool(), &record).is_nothing());
}

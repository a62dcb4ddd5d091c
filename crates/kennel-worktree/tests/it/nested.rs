//! Repositories inside a worktree that `git status` doesn't show.

use kennel_worktree::{BranchOutcome, KeepReason, NestedWorth};

use crate::scene::{Scene, write};

#[test]
fn keeps_a_repository_with_own_commits() {
    let scene = Scene::new();
    let record = scene.worktree();
    let inner = record.path.join("ignored/inner");
    write(&inner, "file", "x");
    scene.git_in(&inner, &["init", "-q"]);
    assert_eq!(
        scene.kept(&record),
        [KeepReason::Nested("ignored/inner".into(), NestedWorth::Changes)]
    );
    scene.commit_in(&inner, "first");
    assert_eq!(
        scene.kept(&record),
        [KeepReason::Nested("ignored/inner".into(), NestedWorth::Commits(1))]
    );
}

#[test]
fn removes_a_clone_without_own_commits() {
    let (scene, other) = (Scene::new(), Scene::new());
    let record = scene.worktree();
    let inner = record.path.join("ignored/clone");
    let (from, to) = (other.repo.to_str().expect("text"), inner.to_str().expect("text"));
    scene.git(&["clone", "-q", from, to]);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn keeps_a_bare_repository() {
    let scene = Scene::new();
    let record = scene.worktree();
    let inner = record.path.join("ignored/bare.git");
    scene.git(&["clone", "-q", "--bare", ".", inner.to_str().expect("text")]);
    let why = scene.kept(&record);
    assert!(matches!(why[0], KeepReason::Nested(_, NestedWorth::Commits(1))), "{why:?}");
}

#[test]
fn keeps_another_worktree() {
    let scene = Scene::new();
    let record = scene.worktree();
    let inner = record.path.join("ignored/inner");
    scene.git_in(
        &record.path,
        &["worktree", "add", "-q", "-b", "inner", inner.to_str().expect("text")],
    );
    assert_eq!(
        scene.kept(&record),
        [KeepReason::Nested("ignored/inner".into(), NestedWorth::Worktree)]
    );
}

#[test]
fn keeps_a_repository_that_cannot_be_read() {
    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "ignored/inner/.git/HEAD", "nonsense");
    let why = scene.kept(&record);
    assert!(matches!(why[0], KeepReason::Nested(_, NestedWorth::Unknown(_))), "{why:?}");
}

#[test]
fn keeps_a_worktree_that_became_a_repository() {
    let scene = Scene::new();
    let record = scene.worktree();
    std::fs::remove_file(record.path.join(".git")).expect("removed");
    scene.git_in(&record.path, &["init", "-q"]);
    scene.commit_in(&record.path, "elsewhere");
    assert_eq!(scene.kept(&record), [KeepReason::Replaced]);
    let refused = kennel_worktree::force_remove(&scene.tool(), &record);
    assert!(refused.is_err() && record.path.join("file").exists());
}

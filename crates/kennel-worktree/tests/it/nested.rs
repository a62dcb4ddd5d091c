//! Repositories within a worktree, where git's own look passes over them.

use kennel_worktree::{BranchFate, NestedWorth, Why};

use crate::scene::{Scene, write};

#[test]
fn a_repository_with_commits_of_its_own() {
    let scene = Scene::new();
    let record = scene.made();
    let inner = record.path.join("ignored/inner");
    write(&inner, "file", "x");
    scene.git_in(&inner, &["init", "-q"]);
    assert_eq!(scene.kept(&record), [Why::Nested("ignored/inner".into(), NestedWorth::Changes)]);
    scene.commit_in(&inner, "first");
    assert_eq!(scene.kept(&record), [Why::Nested("ignored/inner".into(), NestedWorth::Commits(1))]);
}

#[test]
fn a_clone_with_nothing_of_its_own_goes() {
    let (scene, other) = (Scene::new(), Scene::new());
    let record = scene.made();
    let inner = record.path.join("ignored/clone");
    let (from, to) = (other.repo.to_str().expect("text"), inner.to_str().expect("text"));
    scene.git(&["clone", "-q", from, to]);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

#[test]
fn a_bare_repository() {
    let scene = Scene::new();
    let record = scene.made();
    let inner = record.path.join("ignored/bare.git");
    scene.git(&["clone", "-q", "--bare", ".", inner.to_str().expect("text")]);
    let why = scene.kept(&record);
    assert!(matches!(why[0], Why::Nested(_, NestedWorth::Commits(1))), "{why:?}");
}

#[test]
fn another_worktree_inside() {
    let scene = Scene::new();
    let record = scene.made();
    let inner = record.path.join("ignored/inner");
    scene.git_in(
        &record.path,
        &["worktree", "add", "-q", "-b", "inner", inner.to_str().expect("text")],
    );
    assert_eq!(scene.kept(&record), [Why::Nested("ignored/inner".into(), NestedWorth::Worktree)]);
}

#[test]
fn one_that_cannot_be_looked_at() {
    let scene = Scene::new();
    let record = scene.made();
    write(&record.path, "ignored/inner/.git/HEAD", "nonsense");
    let why = scene.kept(&record);
    assert!(matches!(why[0], Why::Nested(_, NestedWorth::Unknown(_))), "{why:?}");
}

#[test]
fn the_worktree_itself_made_another_repository() {
    let scene = Scene::new();
    let record = scene.made();
    std::fs::remove_file(record.path.join(".git")).expect("removed");
    scene.git_in(&record.path, &["init", "-q"]);
    scene.commit_in(&record.path, "elsewhere");
    assert_eq!(scene.kept(&record), [Why::Replaced]);
    let refused = kennel_worktree::remove_anyway(&scene.tool(), &record);
    assert!(refused.is_err() && record.path.join("file").exists());
}

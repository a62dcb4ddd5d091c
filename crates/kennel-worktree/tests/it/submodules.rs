//! Submodules: git leaves them empty. If the session fills them, their repositories are in the
//! worktree's entry.

use kennel_worktree::{BranchOutcome, KeepReason, NestedWorth};

use crate::scene::{Scene, write};

fn with_submodule() -> (Scene, Scene) {
    let (scene, library) = (Scene::new(), Scene::named("library"));
    let url = library.repo.to_str().expect("text");
    scene.git(&["submodule", "--quiet", "add", url, "lib/inner"]);
    scene.commit_all("with a submodule");
    (scene, library)
}

const FILL: [&str; 4] = ["submodule", "--quiet", "update", "--init"];

#[test]
fn leaves_submodules_empty_and_lists_them() {
    let (scene, _library) = with_submodule();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    assert_eq!(scene.create(&record).submodules, ["lib/inner"]);
    assert!(!record.path.join("lib/inner/file").exists());
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert!(scene.repo.join("lib/inner/file").exists());
}

#[test]
fn removes_unchanged_submodules() {
    let (scene, _library) = with_submodule();
    let record = scene.worktree();
    scene.git_in(&record.path, &FILL);
    assert!(record.path.join("lib/inner/file").exists());
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    scene.git(&["submodule", "status"]);
}

#[test]
fn keeps_changes_in_a_submodule() {
    let (scene, _library) = with_submodule();
    let record = scene.worktree();
    scene.git_in(&record.path, &FILL);
    write(&record.path, "lib/inner/file", "changed\n");
    let why = scene.kept(&record);
    assert!(
        matches!(why[0], KeepReason::Changes(ref changes) if changes.submodules == 1),
        "{why:?}"
    );
    assert_eq!(why[1], KeepReason::Nested("lib/inner".into(), NestedWorth::Changes));
}

/// Only the submodule's repository, which would be removed with the worktree, has the commit. It is
/// not checked out, so the worktree itself is clean.
#[test]
fn keeps_commits_in_a_submodule() {
    let (scene, _library) = with_submodule();
    let record = scene.worktree();
    scene.git_in(&record.path, &FILL);
    let inner = record.path.join("lib/inner");
    scene.git_in(&inner, &["switch", "-q", "-c", "topic"]);
    scene.commit_in(&inner, "of its own");
    scene.git_in(&inner, &["checkout", "-q", "--detach", "HEAD~"]);
    assert_eq!(
        scene.kept(&record),
        [KeepReason::Nested("lib/inner".into(), NestedWorth::Commits(1))]
    );
}

/// A session in a submodule uses the submodule's repository.
#[test]
fn creates_a_worktree_of_a_submodule() {
    let (scene, _library) = with_submodule();
    let record = scene.plan(&scene.repo.join("lib/inner"), None).expect("a plan").record;
    assert_eq!(record.repo, scene.repo.join(".git/modules/lib/inner"));
    scene.create(&record);
    assert!(record.path.join("file").exists());
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

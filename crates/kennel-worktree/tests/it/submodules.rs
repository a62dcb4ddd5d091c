//! Submodules: left empty; filled by the session, they are repositories in the worktree's entry.

use kennel_worktree::{BranchFate, NestedWorth, Why};

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
fn they_are_left_empty_and_that_is_said() {
    let (scene, _library) = with_submodule();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    assert_eq!(scene.make(&record).submodules, ["lib/inner"]);
    assert!(!record.path.join("lib/inner/file").exists());
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert!(scene.repo.join("lib/inner/file").exists());
}

#[test]
fn filled_but_untouched_they_go() {
    let (scene, _library) = with_submodule();
    let record = scene.made();
    scene.git_in(&record.path, &FILL);
    assert!(record.path.join("lib/inner/file").exists());
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    scene.git(&["submodule", "status"]);
}

#[test]
fn changes_in_one_are_kept() {
    let (scene, _library) = with_submodule();
    let record = scene.made();
    scene.git_in(&record.path, &FILL);
    write(&record.path, "lib/inner/file", "changed\n");
    let why = scene.kept(&record);
    assert!(matches!(why[0], Why::Changes(ref changes) if changes.submodules == 1), "{why:?}");
    assert_eq!(why[1], Why::Nested("lib/inner".into(), NestedWorth::Changes));
}

/// A commit that is nowhere but in the submodule's repository, which goes with the worktree; not checked out, so that
/// the worktree itself is clean.
#[test]
fn commits_in_one_are_kept() {
    let (scene, _library) = with_submodule();
    let record = scene.made();
    scene.git_in(&record.path, &FILL);
    let inner = record.path.join("lib/inner");
    scene.git_in(&inner, &["switch", "-q", "-c", "topic"]);
    scene.commit_in(&inner, "of its own");
    scene.git_in(&inner, &["checkout", "-q", "--detach", "HEAD~"]);
    assert_eq!(scene.kept(&record), [Why::Nested("lib/inner".into(), NestedWorth::Commits(1))]);
}

/// A session in the submodule of a checkout is a session of the submodule's repository.
#[test]
fn a_worktree_of_a_submodule() {
    let (scene, _library) = with_submodule();
    let record = scene.plan(&scene.repo.join("lib/inner"), None).expect("a plan").record;
    assert_eq!(record.repo, scene.repo.join(".git/modules/lib/inner"));
    scene.make(&record);
    assert!(record.path.join("file").exists());
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

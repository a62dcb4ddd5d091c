//! C2: worktrees of value stay, are reported, and are removed only on request.

use std::path::PathBuf;

use kennel_testing::{Pen, Scene, Who, everywhere};

use super::Repo;

everywhere! {
    fn a_worktree_of_value_is_kept_and_removal_lists_the_losses(scene: Scene) {
        let repo = Repo::new(&scene);
        let script = "echo new > added; echo two > file; git commit -qm 'my work' --allow-empty";
        let ended = repo.run(&["--worktree", "--name", "x"], script);
        assert_eq!(ended.code, 0, "{ended:?}");
        let session = scene.session("x");
        let (id, kept) = (session["id"].as_str().expect("an id"), &session["kept"][0]);
        let tree = PathBuf::from(kept["what"]["path"].as_str().expect("a path"));
        assert!(ended.stderr.contains(&format!("worktree {} is kept: ", tree.display())), "{ended:?}");
        assert!(tree.join("added").exists(), "it is there");
        let listed = repo.listed();
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!((&listed[0]["state"], &listed[0]["session"]), (&"kept".into(), &id.into()));
        let why = listed[0]["kept_because"].as_str().expect("why");
        assert!(why.contains("1 modified, 1 untracked") && why.contains("1 commit is on no other branch"), "{why}");
        assert!(scene.call_ok(&["inspect", "x"]).contains("\nKept worktrees\n"));
        assert!(scene.call_ok(&["doctor"]).contains("1 worktree kept"));

        // Neither rm nor prune drops it.
        let refused = scene.call(&["rm", "x"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("kennel worktrees rm"), "{refused:?}");
        let pruned = scene.call(&["prune"]);
        assert!(pruned.stderr.contains("kept 1 session"), "{pruned:?}");
        let refused = scene.call(&["worktrees", "rm", "x"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("1 commit is on no other branch"), "{refused:?}");
        assert!(refused.stderr.contains("--force"), "{refused:?}");
        assert!(tree.join("added").exists(), "it is still there");

        let removed = scene.call_ok(&["worktrees", "rm", "--force", "x"]);
        assert!(removed.contains("1 commit is on no other branch"), "{removed}");
        assert!(removed.contains(" my work\n") && removed.contains("file added\n"), "{removed}");
        repo.assert_settled();
        assert_eq!(scene.session("x")["kept"].as_array().map(Vec::len), Some(0));
        scene.call_ok(&["rm", "x"]);
        scene.stop_daemon();
    }
}

#[test]
fn a_kept_worktree_is_removed_without_force_when_nothing_of_value_is_left() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let ended =
        repo.run(&["--worktree", "--name", "x"], "git commit -q --allow-empty -m 'my work'");
    assert_eq!(ended.code, 0, "{ended:?}");
    // A new daemon knows it too.
    scene.call_ok(&["daemon", "restart"]);
    assert_eq!(repo.listed()[0]["state"], "kept");
    let branch = repo.listed()[0]["branch"].as_str().expect("a branch").to_owned();
    repo.shell(&format!("git merge -q {branch}"));
    let removed = scene.call_ok(&["worktrees", "rm", &branch]);
    assert!(removed.contains("removed; nothing was lost"), "{removed}");
    repo.assert_settled();
    assert_eq!(repo.shell("git log -1 --format=%s"), "my work");
    scene.stop_daemon();
}

#[test]
fn a_worktree_in_use_is_never_removed() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let run = repo.start(&["--worktree", "-d", "--name", "x"], "exec sleep 100").wait();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("running in worktree"), "{run:?}");
    assert_eq!(repo.listed()[0]["state"], "in_use");
    let refused = scene.call(&["worktrees", "rm", "--force", "x"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("has not ended"), "{refused:?}");
    let unknown = scene.call(&["worktrees", "rm", "nothing"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    scene.call_ok(&["stop", "x"]);
    repo.assert_settled();
    scene.stop_daemon();
}

//! Commits that no other branch, tag or remote has are kept.

use kennel_worktree::{BranchOutcome, KeepReason, RemoveOutcome, inspect, remove};

use crate::scene::{Scene, write};

#[test]
fn keeps_own_commits() {
    let scene = Scene::new();
    let record = scene.worktree();
    let own = scene.commit_in(&record.path, "of its own");
    assert_eq!(scene.kept(&record), [KeepReason::Commits(1)]);
    let found = inspect(&scene.tool(), &record).expect("judged");
    assert_eq!(found.commits.newest[0].id, own);
    assert_eq!(found.commits.newest[0].subject, "of its own");
}

#[test]
fn ignores_commits_of_another_branch() {
    let scene = Scene::new();
    let record = scene.worktree();
    let own = scene.commit_in(&record.path, "merged");
    scene.git(&["merge", "-q", "--ff-only", &record.branch]);
    assert_eq!(scene.gone(&record), BranchOutcome::Deleted { tip: own.clone() });
    assert_eq!(scene.git(&["rev-parse", "main"]), own);
    assert!(!scene.has_branch(&record.branch));
}

#[test]
fn ignores_commits_of_a_tag_or_a_remote() {
    for holder in ["refs/tags/v1", "refs/remotes/origin/topic"] {
        let scene = Scene::new();
        let record = scene.worktree();
        let own = scene.commit_in(&record.path, "elsewhere");
        scene.git(&["update-ref", holder, &own]);
        assert_eq!(scene.gone(&record), BranchOutcome::Deleted { tip: own }, "{holder}");
    }
}

#[test]
fn keeps_commits_that_only_another_head_has() {
    let scene = Scene::new();
    let record = scene.worktree();
    let own = scene.commit_in(&record.path, "of its own");
    scene.git(&["checkout", "-q", "--detach", &own]);
    assert_eq!(scene.kept(&record), [KeepReason::Commits(1)]);
}

#[test]
fn keeps_commits_of_a_detached_head() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.git_in(&record.path, &["checkout", "-q", "--detach"]);
    scene.commit_in(&record.path, "on no branch");
    assert_eq!(scene.kept(&record), [KeepReason::Commits(1)]);
    // Detached, but without new commits.
    scene.git_in(&record.path, &["reset", "-q", "--hard", "main"]);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn keeps_commits_of_a_detached_head_without_its_folder() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.git_in(&record.path, &["checkout", "-q", "--detach"]);
    scene.commit_in(&record.path, "on no branch");
    std::fs::remove_dir_all(&record.path).expect("removed");
    assert_eq!(scene.kept(&record), [KeepReason::Commits(1)]);
}

#[test]
fn keeps_another_branch_with_its_commits() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.git_in(&record.path, &["switch", "-q", "-c", "another"]);
    let own = scene.commit_in(&record.path, "on another");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert_eq!(scene.git(&["rev-parse", "another"]), own);
}

#[test]
fn keeps_an_existing_branch_with_new_commits() {
    let scene = Scene::new();
    scene.git(&["branch", "topic"]);
    let record = scene.worktree_on(Some("topic"));
    assert!(!record.branch_created);
    let own = scene.commit_in(&record.path, "on topic");
    assert_eq!(scene.gone(&record), BranchOutcome::NotOurs);
    assert_eq!(scene.git(&["rev-parse", "topic"]), own);
}

#[test]
fn removes_a_worktree_of_a_detached_user_checkout() {
    let scene = Scene::new();
    scene.git(&["checkout", "-q", "--detach"]);
    let base = scene.commit_all("on no branch");
    let record = scene.worktree();
    assert_eq!(record.base, base);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    // After the user switches, only the session's branch has the commit.
    let record = scene.worktree();
    scene.git(&["checkout", "-q", "main"]);
    assert!(matches!(scene.kept(&record).as_slice(), [KeepReason::Commits(1)]));
}

#[test]
fn keeps_commits_on_a_detached_user_checkout() {
    let scene = Scene::new();
    scene.git(&["checkout", "-q", "--detach"]);
    scene.commit_all("on no branch");
    let record = scene.worktree();
    scene.commit_in(&record.path, "of its own");
    assert_eq!(scene.kept(&record), [KeepReason::Commits(1)], "the base is not the session's");
}

/// Each branch alone could be deleted because of the other. At most one may be.
#[test]
fn two_sessions_with_the_same_commit_do_not_lose_it() {
    for round in 0..6 {
        let scene = Scene::new();
        let one = scene.plan_for(&scene.repo, "one", None).expect("a plan").record;
        scene.create(&one);
        write(&one.path, "file", "precious\n");
        let own = scene.commit_in(&one.path, "precious");
        let two = scene.plan_for(&one.path, "two", None).expect("a plan").record;
        scene.create(&two);
        std::thread::scope(|threads| {
            for record in [&one, &two] {
                threads.spawn(|| {
                    let removed = remove(&scene.tool(), record).expect("no error");
                    assert!(matches!(
                        removed,
                        RemoveOutcome::Gone { .. } | RemoveOutcome::Kept { .. }
                    ));
                });
            }
        });
        let left = scene.git(&["branch", "--contains", &own, "--format=%(refname:short)"]);
        assert_eq!(left.lines().count(), 1, "round {round}: {left}");
        scene.assert_whole();
    }
}

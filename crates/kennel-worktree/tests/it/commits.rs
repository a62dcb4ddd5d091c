//! Commits that are nowhere else are kept.

use kennel_worktree::{BranchFate, Removed, Why, judge, remove};

use crate::scene::{Scene, write};

#[test]
fn one_of_its_own() {
    let scene = Scene::new();
    let record = scene.made();
    let own = scene.commit_in(&record.path, "of its own");
    assert_eq!(scene.kept(&record), [Why::Commits(1)]);
    let found = judge(&scene.tool(), &record).expect("judged");
    assert_eq!(found.commits.newest[0].id, own);
    assert_eq!(found.commits.newest[0].subject, "of its own");
}

#[test]
fn one_that_another_branch_has() {
    let scene = Scene::new();
    let record = scene.made();
    let own = scene.commit_in(&record.path, "merged");
    scene.git(&["merge", "-q", "--ff-only", &record.branch]);
    assert_eq!(scene.gone(&record), BranchFate::Deleted { tip: own.clone() });
    assert_eq!(scene.git(&["rev-parse", "main"]), own);
    assert!(!scene.has_branch(&record.branch));
}

#[test]
fn one_that_a_tag_has_or_a_remote() {
    for holder in ["refs/tags/v1", "refs/remotes/origin/topic"] {
        let scene = Scene::new();
        let record = scene.made();
        let own = scene.commit_in(&record.path, "elsewhere");
        scene.git(&["update-ref", holder, &own]);
        assert_eq!(scene.gone(&record), BranchFate::Deleted { tip: own }, "{holder}");
    }
}

#[test]
fn one_that_only_another_head_has_is_on_no_branch() {
    let scene = Scene::new();
    let record = scene.made();
    let own = scene.commit_in(&record.path, "of its own");
    scene.git(&["checkout", "-q", "--detach", &own]);
    assert_eq!(scene.kept(&record), [Why::Commits(1)]);
}

#[test]
fn of_a_detached_head() {
    let scene = Scene::new();
    let record = scene.made();
    scene.git_in(&record.path, &["checkout", "-q", "--detach"]);
    scene.commit_in(&record.path, "on no branch");
    assert_eq!(scene.kept(&record), [Why::Commits(1)]);
    // Detached, but nothing made there.
    scene.git_in(&record.path, &["reset", "-q", "--hard", "main"]);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

#[test]
fn of_a_detached_head_whose_folder_is_gone() {
    let scene = Scene::new();
    let record = scene.made();
    scene.git_in(&record.path, &["checkout", "-q", "--detach"]);
    scene.commit_in(&record.path, "on no branch");
    std::fs::remove_dir_all(&record.path).expect("removed");
    assert_eq!(scene.kept(&record), [Why::Commits(1)]);
}

/// The other branch stays, and so do its commits.
#[test]
fn of_another_branch_made_meanwhile() {
    let scene = Scene::new();
    let record = scene.made();
    scene.git_in(&record.path, &["switch", "-q", "-c", "another"]);
    let own = scene.commit_in(&record.path, "on another");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert_eq!(scene.git(&["rev-parse", "another"]), own);
}

/// A branch that was there before the session stays, with what the session committed.
#[test]
fn of_a_branch_that_was_there_before() {
    let scene = Scene::new();
    scene.git(&["branch", "topic"]);
    let record = scene.made_on(Some("topic"));
    assert!(!record.branch_created);
    let own = scene.commit_in(&record.path, "on topic");
    assert_eq!(scene.gone(&record), BranchFate::NotOurs);
    assert_eq!(scene.git(&["rev-parse", "topic"]), own);
}

#[test]
fn the_user_stands_on_no_branch() {
    let scene = Scene::new();
    scene.git(&["checkout", "-q", "--detach"]);
    let base = scene.commit_all("on no branch");
    let record = scene.made();
    assert_eq!(record.base, base);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    // Once the user is elsewhere, the session's branch is the only one to have it.
    let record = scene.made();
    scene.git(&["checkout", "-q", "main"]);
    assert!(matches!(scene.kept(&record).as_slice(), [Why::Commits(1)]));
}

#[test]
fn the_user_stands_on_no_branch_and_the_session_commits() {
    let scene = Scene::new();
    scene.git(&["checkout", "-q", "--detach"]);
    scene.commit_all("on no branch");
    let record = scene.made();
    scene.commit_in(&record.path, "of its own");
    assert_eq!(scene.kept(&record), [Why::Commits(1)], "the base is not the session's");
}

/// Each would be free to go because of the other. At most one may.
#[test]
fn two_sessions_with_the_same_commit_do_not_lose_it() {
    for round in 0..6 {
        let scene = Scene::new();
        let one = scene.plan_for(&scene.repo, "one", None).expect("a plan").record;
        scene.make(&one);
        write(&one.path, "file", "precious\n");
        let own = scene.commit_in(&one.path, "precious");
        let two = scene.plan_for(&one.path, "two", None).expect("a plan").record;
        scene.make(&two);
        std::thread::scope(|threads| {
            for record in [&one, &two] {
                threads.spawn(|| {
                    let removed = remove(&scene.tool(), record).expect("no error");
                    assert!(matches!(removed, Removed::Gone { .. } | Removed::Kept { .. }));
                });
            }
        });
        let left = scene.git(&["branch", "--contains", &own, "--format=%(refname:short)"]);
        assert_eq!(left.lines().count(), 1, "round {round}: {left}");
        scene.assert_whole();
    }
}

//! The branch of a worktree.

use kennel_worktree::{
    BranchOutcome, CreateWorktreeError, PlanWorktreeError, WorktreePlan, WorktreeRequest, create,
};

use crate::scene::{SESSION, Scene};

#[test]
fn deletes_a_new_branch_without_commits() {
    let scene = Scene::new();
    let record = scene.worktree_on(Some("topic/new"));
    assert!(record.branch_created);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert!(!scene.has_branch("topic/new"));
}

#[test]
fn keeps_an_existing_branch() {
    let scene = Scene::new();
    scene.git(&["branch", "topic"]);
    let plan = scene.plan(&scene.repo, Some("topic")).expect("a plan");
    assert_eq!(plan.record.base, scene.git(&["rev-parse", "topic"]));
    scene.create(&plan.record);
    assert_eq!(scene.gone(&plan.record), BranchOutcome::NotOurs);
    assert!(scene.has_branch("topic"));
}

#[test]
fn refuses_a_branch_that_is_checked_out() {
    let scene = Scene::new();
    let refused = scene.plan(&scene.repo, Some("main")).expect_err("in use");
    assert!(
        matches!(refused, PlanWorktreeError::BranchInUse { ref at, .. } if *at == scene.repo),
        "{refused:?}"
    );
    let record = scene.worktree_on(Some("topic"));
    let refused = scene.plan_for(&scene.repo, "other", Some("topic")).expect_err("in use");
    assert!(matches!(refused, PlanWorktreeError::BranchInUse { ref at, .. } if *at == record.path));
    assert!(refused.to_string().contains("topic"), "{refused}");
}

/// The failure of the second plan doesn't affect the first.
#[test]
fn creates_only_one_of_two_plans_for_one_branch() {
    let scene = Scene::new();
    scene.git(&["branch", "old"]);
    for branch in ["new", "old"] {
        let first = scene
            .plan_for(&scene.repo, &format!("one-{branch}"), Some(branch))
            .expect("a plan")
            .record;
        let second = scene
            .plan_for(&scene.repo, &format!("two-{branch}"), Some(branch))
            .expect("a plan")
            .record;
        scene.create(&first);
        let refused = create(&scene.tool(), &second).expect_err("taken");
        if branch == "new" {
            assert!(matches!(refused, CreateWorktreeError::BranchTaken { .. }), "{refused:?}");
        }
        assert_eq!(scene.gone(&second), BranchOutcome::NotOurs);
        assert!(scene.has_branch(branch) && first.path.exists());
        let _fate = scene.gone(&first);
    }
}

/// The branch is never deleted with the session.
#[test]
fn keeps_a_branch_that_another_program_created_in_the_meantime() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, Some("topic")).expect("a plan").record;
    scene.git(&["branch", "topic"]);
    let refused = create(&scene.tool(), &record).expect_err("taken");
    assert!(matches!(refused, CreateWorktreeError::BranchTaken { .. }), "{refused:?}");
    assert_eq!(scene.gone(&record), BranchOutcome::NotOurs);
    assert!(scene.has_branch("topic"));
}

#[test]
fn keeps_a_branch_that_is_checked_out_elsewhere() {
    let scene = Scene::new();
    let record = scene.worktree();
    scene.git_in(&record.path, &["checkout", "-q", "--detach"]);
    scene.git(&["checkout", "-q", &record.branch]);
    assert_eq!(scene.gone(&record), BranchOutcome::InUse(scene.repo.clone()));
    assert_eq!(scene.git(&["branch", "--show-current"]), record.branch);
}

#[test]
fn names_a_conflicting_branch() {
    let scene = Scene::new();
    scene.git(&["branch", "kennel"]);
    let refused = scene.plan(&scene.repo, None).expect_err("in the way");
    assert!(
        matches!(refused, PlanWorktreeError::BranchConflict { ref other, .. } if other == "kennel")
    );
    scene.git(&["branch", "deep/er/branch"]);
    let refused = scene.plan(&scene.repo, Some("deep/er")).expect_err("in the way");
    assert!(
        matches!(refused, PlanWorktreeError::BranchConflict { ref other, .. } if other == "deep/er/branch")
    );
    let free = scene.plan(&scene.repo, Some("deep/else"));
    assert!(free.is_ok(), "{free:?}");
}

#[test]
fn starts_from_the_branch_of_a_remote() {
    let scene = Scene::new();
    let theirs = scene.commit_all("theirs");
    scene.git(&["reset", "-q", "--hard", "HEAD~"]);
    scene.git(&["update-ref", "refs/remotes/origin/topic", &theirs]);
    let plan = scene.plan(&scene.repo, Some("topic")).expect("a plan");
    assert_eq!(plan.record.base, theirs);
    scene.create(&plan.record);
    assert_eq!(scene.git_in(&plan.record.path, &["rev-parse", "HEAD"]), theirs);
    assert!(matches!(scene.gone(&plan.record), BranchOutcome::Deleted { .. }));
    scene.git(&["update-ref", "refs/remotes/fork/topic", &theirs]);
    let refused = scene.plan(&scene.repo, Some("topic")).expect_err("which one?");
    assert!(matches!(refused, PlanWorktreeError::SeveralRemotes { .. }), "{refused:?}");
}

#[test]
fn starts_from_a_given_commit() {
    let scene = Scene::new();
    let old = scene.git(&["rev-parse", "HEAD"]);
    scene.commit_all("newer");
    let tool = scene.tool();
    let plan = |branch, base| {
        let (folder, parent) = (&scene.repo, &scene.parent);
        WorktreePlan::new(
            &tool,
            &WorktreeRequest { folder, parent, session: SESSION, branch, base: Some(base) },
        )
    };
    let made = plan(None, "HEAD~1").expect("a plan");
    assert_eq!(made.record.base, old);
    for base in ["nonsense", "a..b", "--all", "HEAD:file", ""] {
        let refused = plan(None, base).expect_err(base);
        assert!(matches!(refused, PlanWorktreeError::NoSuchBase { .. }), "{base}: {refused:?}");
    }
    let refused = plan(Some("main"), "HEAD~1").expect_err("it has its own");
    assert!(matches!(refused, PlanWorktreeError::BranchExists { .. }), "{refused:?}");
}

#[test]
fn ignores_a_tag_of_the_same_name() {
    let scene = Scene::new();
    scene.git(&["tag", "topic"]);
    let newer = scene.commit_all("newer");
    scene.git(&["branch", "topic"]);
    let record = scene.worktree_on(Some("topic"));
    assert_eq!(record.base, newer);
    assert_eq!(scene.git_in(&record.path, &["rev-parse", "HEAD"]), newer);
    assert_eq!(scene.git_in(&record.path, &["symbolic-ref", "HEAD"]), "refs/heads/topic");
    assert_eq!(scene.gone(&record), BranchOutcome::NotOurs);
}

//! Which branch a worktree is on.

use kennel_worktree::{BranchFate, MakeError, Plan, Refusal, Request, StartsFrom, make};

use crate::scene::{SESSION, Scene};

#[test]
fn a_new_one_by_a_given_name_goes_if_it_is_empty() {
    let scene = Scene::new();
    let record = scene.made_on(Some("topic/new"));
    assert!(record.branch_created);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert!(!scene.has_branch("topic/new"));
}

#[test]
fn one_that_was_there_before_stays() {
    let scene = Scene::new();
    scene.git(&["branch", "topic"]);
    let plan = scene.plan(&scene.repo, Some("topic")).expect("a plan");
    assert_eq!(plan.starts_from, StartsFrom::Branch);
    scene.make(&plan.record);
    assert_eq!(scene.gone(&plan.record), BranchFate::NotOurs);
    assert!(scene.has_branch("topic"));
}

#[test]
fn one_in_use_is_refused_with_where() {
    let scene = Scene::new();
    let refused = scene.plan(&scene.repo, Some("main")).expect_err("in use");
    assert!(
        matches!(refused, Refusal::BranchInUse { ref at, .. } if *at == scene.repo),
        "{refused:?}"
    );
    let record = scene.made_on(Some("topic"));
    let refused = scene.plan_for(&scene.repo, "other", Some("topic")).expect_err("in use");
    assert!(matches!(refused, Refusal::BranchInUse { ref at, .. } if *at == record.path));
    assert!(refused.to_string().contains("topic"), "{refused}");
}

/// Two plans, one branch: only one is made, the other takes nothing away from it.
#[test]
fn of_two_plans_for_one_branch_one_is_made() {
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
        scene.make(&first);
        let refused = make(&scene.tool(), &second).expect_err("taken");
        if branch == "new" {
            assert!(matches!(refused, MakeError::BranchTaken { .. }), "{refused:?}");
        }
        assert_eq!(scene.gone(&second), BranchFate::NotOurs);
        assert!(scene.has_branch(branch) && first.path.exists());
        let _fate = scene.gone(&first);
    }
}

/// Made by somebody else after the plan: whatever becomes of the session, it is theirs.
#[test]
fn one_that_somebody_made_meanwhile_is_theirs() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, Some("topic")).expect("a plan").record;
    scene.git(&["branch", "topic"]);
    let refused = make(&scene.tool(), &record).expect_err("taken");
    assert!(matches!(refused, MakeError::BranchTaken { .. }), "{refused:?}");
    assert_eq!(scene.gone(&record), BranchFate::NotOurs);
    assert!(scene.has_branch("topic"));
}

#[test]
fn one_checked_out_elsewhere_by_the_end_stays() {
    let scene = Scene::new();
    let record = scene.made();
    scene.git_in(&record.path, &["checkout", "-q", "--detach"]);
    scene.git(&["checkout", "-q", &record.branch]);
    assert_eq!(scene.gone(&record), BranchFate::InUse(scene.repo.clone()));
    assert_eq!(scene.git(&["branch", "--show-current"]), record.branch);
}

#[test]
fn a_branch_in_the_way_is_named() {
    let scene = Scene::new();
    scene.git(&["branch", "kennel"]);
    let refused = scene.plan(&scene.repo, None).expect_err("in the way");
    assert!(matches!(refused, Refusal::BranchInTheWay { ref other, .. } if other == "kennel"));
    scene.git(&["branch", "deep/er/branch"]);
    let refused = scene.plan(&scene.repo, Some("deep/er")).expect_err("in the way");
    assert!(
        matches!(refused, Refusal::BranchInTheWay { ref other, .. } if other == "deep/er/branch")
    );
    let free = scene.plan(&scene.repo, Some("deep/else"));
    assert!(free.is_ok(), "{free:?}");
}

#[test]
fn one_of_a_remote_starts_there() {
    let scene = Scene::new();
    let theirs = scene.commit_all("theirs");
    scene.git(&["reset", "-q", "--hard", "HEAD~"]);
    scene.git(&["update-ref", "refs/remotes/origin/topic", &theirs]);
    let plan = scene.plan(&scene.repo, Some("topic")).expect("a plan");
    assert_eq!(plan.starts_from, StartsFrom::Remote("origin".to_owned()));
    assert_eq!(plan.record.base, theirs);
    scene.make(&plan.record);
    assert_eq!(scene.git_in(&plan.record.path, &["rev-parse", "HEAD"]), theirs);
    assert!(matches!(scene.gone(&plan.record), BranchFate::Deleted { .. }));
    scene.git(&["update-ref", "refs/remotes/fork/topic", &theirs]);
    let refused = scene.plan(&scene.repo, Some("topic")).expect_err("which one?");
    assert!(matches!(refused, Refusal::SeveralRemotes { .. }), "{refused:?}");
}

#[test]
fn from_a_given_commit() {
    let scene = Scene::new();
    let old = scene.git(&["rev-parse", "HEAD"]);
    scene.commit_all("newer");
    let tool = scene.tool();
    let plan = |branch, base| {
        let (folder, place) = (&scene.repo, &scene.place);
        Plan::new(&tool, &Request { folder, place, session: SESSION, branch, base: Some(base) })
    };
    let made = plan(None, "HEAD~1").expect("a plan");
    assert_eq!((&made.record.base, made.starts_from), (&old, StartsFrom::Given));
    for base in ["nonsense", "a..b", "--all", "HEAD:file", ""] {
        let refused = plan(None, base).expect_err(base);
        assert!(matches!(refused, Refusal::NoSuchBase { .. }), "{base}: {refused:?}");
    }
    let refused = plan(Some("main"), "HEAD~1").expect_err("it has its own");
    assert!(matches!(refused, Refusal::BranchHasItsBase { .. }), "{refused:?}");
}

#[test]
fn a_tag_of_the_same_name_does_not_confuse() {
    let scene = Scene::new();
    scene.git(&["tag", "topic"]);
    let newer = scene.commit_all("newer");
    scene.git(&["branch", "topic"]);
    let record = scene.made_on(Some("topic"));
    assert_eq!(record.base, newer);
    assert_eq!(scene.git_in(&record.path, &["rev-parse", "HEAD"]), newer);
    assert_eq!(scene.git_in(&record.path, &["symbolic-ref", "HEAD"]), "refs/heads/topic");
    assert_eq!(scene.gone(&record), BranchFate::NotOurs);
}

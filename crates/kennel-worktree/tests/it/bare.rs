//! Worktrees of a bare repository.

use kennel_worktree::{
    BranchOutcome, Checkout, KeepReason, PlanWorktreeError, WorktreePlan, WorktreeRequest,
};

use crate::scene::{SESSION, Scene};

#[test]
fn creates_a_worktree_of_a_bare_repository() {
    let scene = Scene::new();
    let bare = scene.at("bare.git");
    scene.git(&["clone", "-q", "--bare", ".", bare.to_str().expect("text")]);
    for folder in [bare.clone(), bare.join("refs")] {
        let parent = scene.parent.clone();
        let request = WorktreeRequest {
            folder: &folder,
            parent: &parent,
            session: SESSION,
            branch: None,
            base: None,
        };
        let plan = WorktreePlan::new(&scene.tool(), &request).expect("a plan");
        assert_eq!((plan.checkout, &plan.record.repo), (Checkout::Bare, &bare));
        let name = plan.record.path.file_name().expect("a name").to_string_lossy().into_owned();
        assert_eq!(name, format!("bare-{SESSION}"));
        scene.create(&plan.record);
        assert!(plan.record.path.join("file").exists());
        scene.commit_in(&plan.record.path, "of its own");
        assert_eq!(scene.kept(&plan.record), [KeepReason::Commits(1)]);
        scene.git_in(&plan.record.path, &["reset", "-q", "--hard", "HEAD~"]);
        assert!(matches!(scene.gone(&plan.record), BranchOutcome::Deleted { .. }));
        scene.git_in(&bare, &["fsck", "--strict"]);
    }
}

/// `main` is the `HEAD` of the bare repository, but not checked out.
#[test]
fn the_branch_of_a_bare_head_is_free() {
    let scene = Scene::new();
    let bare = scene.at("bare.git");
    scene.git(&["clone", "-q", "--bare", ".", bare.to_str().expect("text")]);
    let record = scene.plan(&bare, Some("main")).expect("a plan").record;
    scene.create(&record);
    let refused = scene.plan_for(&bare, "second", Some("main")).expect_err("in use by now");
    assert!(
        matches!(refused, PlanWorktreeError::BranchInUse { ref at, .. } if *at == record.path),
        "{refused:?}"
    );
    assert_eq!(scene.gone(&record), BranchOutcome::NotOurs);
}

//! A bare repository has no checkout, but worktrees.

use kennel_worktree::{BranchFate, Checkout, Plan, Refusal, Request, Why};

use crate::scene::{SESSION, Scene};

#[test]
fn a_worktree_of_a_bare_repository() {
    let scene = Scene::new();
    let bare = scene.at("bare.git");
    scene.git(&["clone", "-q", "--bare", ".", bare.to_str().expect("text")]);
    for folder in [bare.clone(), bare.join("refs")] {
        let place = scene.place.clone();
        let request =
            Request { folder: &folder, place: &place, session: SESSION, branch: None, base: None };
        let plan = Plan::new(&scene.tool(), &request).expect("a plan");
        assert_eq!((plan.checkout, &plan.record.repo), (Checkout::Bare, &bare));
        let name = plan.record.path.file_name().expect("a name").to_string_lossy().into_owned();
        assert_eq!(name, format!("bare-{SESSION}"));
        scene.make(&plan.record);
        assert!(plan.record.path.join("file").exists());
        scene.commit_in(&plan.record.path, "of its own");
        assert_eq!(scene.kept(&plan.record), [Why::Commits(1)]);
        scene.git_in(&plan.record.path, &["reset", "-q", "--hard", "HEAD~"]);
        assert!(matches!(scene.gone(&plan.record), BranchFate::Deleted { .. }));
        scene.git_in(&bare, &["fsck", "--strict"]);
    }
}

/// `main` is the bare repository's HEAD, but checked out nowhere.
#[test]
fn its_own_branch_is_free() {
    let scene = Scene::new();
    let bare = scene.at("bare.git");
    scene.git(&["clone", "-q", "--bare", ".", bare.to_str().expect("text")]);
    let record = scene.plan(&bare, Some("main")).expect("a plan").record;
    scene.make(&record);
    let refused = scene.plan_for(&bare, "second", Some("main")).expect_err("in use by now");
    assert!(
        matches!(refused, Refusal::BranchInUse { ref at, .. } if *at == record.path),
        "{refused:?}"
    );
    assert_eq!(scene.gone(&record), BranchFate::NotOurs);
}

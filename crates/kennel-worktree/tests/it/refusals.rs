//! Refusals happen before anything is created, with the reason.

use std::fs;
use std::os::unix::fs::chown;

use kennel_testing::{is_root, skip};
use kennel_worktree::{Git, GitError, PlanWorktreeError, WorktreePlan, WorktreeRequest};

use crate::scene::{SESSION, Scene};

#[test]
fn refuses_a_folder_outside_a_repository() {
    let scene = Scene::new();
    let folder = scene.at("plain");
    fs::create_dir(&folder).expect("a folder");
    let refused = scene.plan(&folder, None).expect_err("no repository");
    assert!(matches!(refused, PlanWorktreeError::NotARepository { .. }), "{refused:?}");
    assert!(refused.to_string().contains("plain"), "{refused}");
}

#[test]
fn refuses_a_missing_folder() {
    let scene = Scene::new();
    let refused = scene.plan(&scene.at("nowhere"), None).expect_err("not there");
    assert!(matches!(refused, PlanWorktreeError::Folder { .. }), "{refused:?}");
}

#[test]
fn refuses_a_repository_without_a_commit() {
    let scene = Scene::empty("repo");
    let refused = scene.plan(&scene.repo, None).expect_err("no commit");
    assert!(matches!(refused, PlanWorktreeError::NoCommit { .. }), "{refused:?}");
    let refused = scene.plan(&scene.repo, Some("main")).expect_err("no commit");
    assert!(matches!(refused, PlanWorktreeError::NoCommit { .. }), "{refused:?}");
}

#[test]
fn refuses_invalid_branch_names() {
    let scene = Scene::new();
    for name in [
        "", "-b", "a..b", "a b", "a~1", "@{-1}", "x.lock", "/x", "x/", "HEAD", "a\nb", "a\0b", "a*",
    ] {
        let refused = scene.plan(&scene.repo, Some(name)).expect_err(name);
        assert!(matches!(refused, PlanWorktreeError::BranchName { .. }), "{name:?}: {refused:?}");
    }
}

#[test]
fn refuses_without_git() {
    let scene = Scene::new();
    let git = Git::new([("PATH".into(), scene.repo.clone().into())]);
    let (folder, parent) = (&scene.repo, &scene.parent);
    let request = WorktreeRequest { folder, parent, session: SESSION, branch: None, base: None };
    let refused = WorktreePlan::new(&git, &request).expect_err("no git");
    assert!(matches!(refused, PlanWorktreeError::Git(GitError::Missing)), "{refused:?}");
}

#[test]
fn refuses_an_old_git() {
    let scene = Scene::new();
    let git = old_git(&scene, "git version 2.20.1");
    let (folder, parent) = (&scene.repo, &scene.parent);
    let request = WorktreeRequest { folder, parent, session: SESSION, branch: None, base: None };
    let refused = WorktreePlan::new(&git, &request).expect_err("too old");
    assert!(matches!(refused, PlanWorktreeError::GitTooOld { found: (2, 20) }), "{refused:?}");
}

fn old_git(scene: &Scene, answer: &str) -> Git {
    use std::os::unix::fs::PermissionsExt;
    let program = scene.at("git");
    fs::write(&program, format!("#!/bin/sh\necho '{answer}'\n")).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    Git::new([("PATH".into(), scene.at("").into())])
}

#[test]
fn refuses_the_repository_of_another_user() {
    if !is_root() {
        return skip("a repository of another user", "only root can give files away");
    }
    let scene = Scene::new();
    for path in [scene.repo.clone(), scene.repo.join(".git")] {
        chown(path, Some(65534), Some(65534)).expect("owner changed");
    }
    let refused = scene.plan(&scene.repo, None).expect_err("not trusted");
    assert!(matches!(refused, PlanWorktreeError::DubiousOwner { .. }), "{refused:?}");
    assert!(refused.to_string().contains("safe.directory"), "the remedy is passed on: {refused}");
}

#[test]
fn refuses_an_unusable_parent_folder() {
    let scene = Scene::new();
    let tool = scene.tool();
    let plan = |parent: &std::path::Path| {
        let request = WorktreeRequest {
            folder: &scene.repo,
            parent,
            session: SESSION,
            branch: None,
            base: None,
        };
        WorktreePlan::new(&tool, &request)
    };
    scene.write("a file", "");
    let places = [
        "relative".into(),
        scene.repo.join("a file"),
        scene.repo.join("a file/below"),
        "/proc/kennel/place".into(),
        scene.at("missing/../other"),
    ];
    for parent in places {
        let refused = plan(&parent).expect_err("no parent");
        assert!(matches!(refused, PlanWorktreeError::Location { .. }), "{parent:?}: {refused:?}");
    }
}

#[test]
fn refuses_an_existing_path() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    fs::create_dir_all(&record.path).expect("taken");
    let refused = scene.plan(&scene.repo, None).expect_err("taken");
    assert!(
        matches!(refused, PlanWorktreeError::Taken { ref path } if *path == record.path),
        "{refused:?}"
    );
}

/// A folder with files that was created after the plan is neither used nor removed.
#[test]
fn refuses_a_path_that_was_created_in_the_meantime() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    crate::scene::write(&record.path, "mine", "mine");
    let refused = kennel_worktree::create(&scene.tool(), &record).expect_err("taken");
    assert!(matches!(refused, kennel_worktree::CreateWorktreeError::Taken { .. }), "{refused:?}");
    assert_eq!(scene.kept(&record), [kennel_worktree::KeepReason::Unregistered]);
    assert!(record.path.join("mine").exists());
}

#[test]
fn refuses_an_invalid_session_id() {
    let scene = Scene::new();
    for session in ["", "../up", "a b", ".git"] {
        let refused = scene.plan_for(&scene.repo, session, None).expect_err("no id");
        assert!(matches!(refused, PlanWorktreeError::Session { .. }), "{refused:?}");
    }
}

#[test]
fn ignores_variables_that_redirect_git() {
    let (scene, other) = (Scene::new(), Scene::new());
    let mut environment = scene.environment();
    environment.push(("GIT_DIR".into(), other.repo.join(".git").into()));
    environment.push(("GIT_WORK_TREE".into(), other.repo.clone().into()));
    let (folder, parent) = (&scene.repo, &scene.parent);
    let request = WorktreeRequest { folder, parent, session: SESSION, branch: None, base: None };
    let plan = WorktreePlan::new(&Git::new(environment), &request).expect("a plan");
    assert_eq!(plan.record.repo, scene.repo.join(".git"));
}

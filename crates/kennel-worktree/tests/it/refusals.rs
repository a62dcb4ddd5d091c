//! What can't be done is refused before anything is made, with what and why.

use std::fs;
use std::os::unix::fs::chown;

use kennel_testing::{is_root, skip};
use kennel_worktree::{Git, GitError, Plan, Refusal, Request};

use crate::scene::{SESSION, Scene};

#[test]
fn a_folder_that_is_no_repository() {
    let scene = Scene::new();
    let folder = scene.at("plain");
    fs::create_dir(&folder).expect("a folder");
    let refused = scene.plan(&folder, None).expect_err("no repository");
    assert!(matches!(refused, Refusal::NotARepository { .. }), "{refused:?}");
    assert!(refused.to_string().contains("plain"), "{refused}");
}

#[test]
fn a_folder_that_is_not_there() {
    let scene = Scene::new();
    let refused = scene.plan(&scene.at("nowhere"), None).expect_err("not there");
    assert!(matches!(refused, Refusal::Folder { .. }), "{refused:?}");
}

#[test]
fn no_commit_yet() {
    let scene = Scene::empty("repo");
    let refused = scene.plan(&scene.repo, None).expect_err("no commit");
    assert!(matches!(refused, Refusal::NoCommit { .. }), "{refused:?}");
    let refused = scene.plan(&scene.repo, Some("main")).expect_err("no commit");
    assert!(matches!(refused, Refusal::NoCommit { .. }), "{refused:?}");
}

#[test]
fn names_that_git_refuses() {
    let scene = Scene::new();
    for name in [
        "", "-b", "a..b", "a b", "a~1", "@{-1}", "x.lock", "/x", "x/", "HEAD", "a\nb", "a\0b", "a*",
    ] {
        let refused = scene.plan(&scene.repo, Some(name)).expect_err(name);
        assert!(matches!(refused, Refusal::BranchName { .. }), "{name:?}: {refused:?}");
    }
}

#[test]
fn no_git_at_all() {
    let scene = Scene::new();
    let git = Git::new([("PATH".into(), scene.repo.clone().into())]);
    let (folder, place) = (&scene.repo, &scene.place);
    let request = Request { folder, place, session: SESSION, branch: None, base: None };
    let refused = Plan::new(&git, &request).expect_err("no git");
    assert!(matches!(refused, Refusal::Git(GitError::Missing)), "{refused:?}");
}

#[test]
fn a_git_that_is_too_old() {
    let scene = Scene::new();
    let git = old_git(&scene, "git version 2.20.1");
    let (folder, place) = (&scene.repo, &scene.place);
    let request = Request { folder, place, session: SESSION, branch: None, base: None };
    let refused = Plan::new(&git, &request).expect_err("too old");
    assert!(matches!(refused, Refusal::GitTooOld { found: (2, 20) }), "{refused:?}");
}

fn old_git(scene: &Scene, answer: &str) -> Git {
    use std::os::unix::fs::PermissionsExt;
    let program = scene.at("git");
    fs::write(&program, format!("#!/bin/sh\necho '{answer}'\n")).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    Git::new([("PATH".into(), scene.at("").into())])
}

#[test]
fn a_repository_of_somebody_else() {
    if !is_root() {
        return skip("a repository of somebody else", "only root can give files away");
    }
    let scene = Scene::new();
    for path in [scene.repo.clone(), scene.repo.join(".git")] {
        chown(path, Some(65534), Some(65534)).expect("given away");
    }
    let refused = scene.plan(&scene.repo, None).expect_err("not trusted");
    assert!(matches!(refused, Refusal::DubiousOwner { .. }), "{refused:?}");
    assert!(refused.to_string().contains("safe.directory"), "the remedy is passed on: {refused}");
}

#[test]
fn a_place_that_cannot_be_used() {
    let scene = Scene::new();
    let tool = scene.tool();
    let plan = |place: &std::path::Path| {
        let request =
            Request { folder: &scene.repo, place, session: SESSION, branch: None, base: None };
        Plan::new(&tool, &request)
    };
    scene.write("a file", "");
    let places = [
        "relative".into(),
        scene.repo.join("a file"),
        scene.repo.join("a file/below"),
        "/proc/kennel/place".into(),
        scene.at("missing/../other"),
    ];
    for place in places {
        let refused = plan(&place).expect_err("no place");
        assert!(matches!(refused, Refusal::Place { .. }), "{place:?}: {refused:?}");
    }
}

#[test]
fn a_path_that_is_taken() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    fs::create_dir_all(&record.path).expect("taken");
    let refused = scene.plan(&scene.repo, None).expect_err("taken");
    assert!(matches!(refused, Refusal::Taken { ref path } if *path == record.path), "{refused:?}");
}

/// Taken since the plan, by something with files in it: it is neither used nor removed.
#[test]
fn a_path_that_was_taken_meanwhile() {
    let scene = Scene::new();
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    crate::scene::write(&record.path, "mine", "mine");
    let refused = kennel_worktree::make(&scene.tool(), &record).expect_err("taken");
    assert!(matches!(refused, kennel_worktree::MakeError::Taken { .. }), "{refused:?}");
    assert_eq!(scene.kept(&record), [kennel_worktree::Why::Unregistered]);
    assert!(record.path.join("mine").exists());
}

#[test]
fn a_session_whose_id_is_no_name() {
    let scene = Scene::new();
    for session in ["", "../up", "a b", ".git"] {
        let refused = scene.plan_for(&scene.repo, session, None).expect_err("no id");
        assert!(matches!(refused, Refusal::Session { .. }), "{refused:?}");
    }
}

/// Variables that lead git elsewhere are not believed.
#[test]
fn another_repository_by_variable() {
    let (scene, other) = (Scene::new(), Scene::new());
    let mut environment = scene.environment();
    environment.push(("GIT_DIR".into(), other.repo.join(".git").into()));
    environment.push(("GIT_WORK_TREE".into(), other.repo.clone().into()));
    let (folder, place) = (&scene.repo, &scene.place);
    let request = Request { folder, place, session: SESSION, branch: None, base: None };
    let plan = Plan::new(&Git::new(environment), &request).expect("a plan");
    assert_eq!(plan.record.repo, scene.repo.join(".git"));
}

//! The user's hooks run when a worktree is created, but not when it is inspected or removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use kennel_worktree::{BranchOutcome, Hooks, create};

use crate::scene::Scene;

pub(crate) fn add_hook(scene: &Scene, name: &str, text: &str) {
    let hooks = scene.repo.join(".git/hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    fs::write(hooks.join(name), format!("#!/bin/sh\n{text}\n")).expect("written");
    fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn hooks_run_unless_they_are_off() {
    let scene = Scene::new();
    add_hook(
        &scene,
        "post-checkout",
        "echo hook at work; pwd > \"$HOME/ran\"; umask > \"$HOME/umask\"",
    );
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let made = scene.create(&record);
    assert!(made.messages.contains("hook at work"), "{:?}", made.messages);
    let ran = fs::read_to_string(scene.at("ran")).expect("it ran");
    assert_eq!(ran.trim_end(), record.path.to_str().expect("text"));
    assert_eq!(fs::read_to_string(scene.at("umask")).expect("it ran").trim_end(), "0022");
    let _fate = scene.gone(&record);
    fs::remove_file(scene.at("ran")).expect("removed");
    create(&scene.tool().with_hooks(Hooks::Off), &record).expect("made");
    assert!(!scene.at("ran").exists());
}

/// Git creates the worktree in spite of the failure.
#[test]
fn reports_a_failed_hook() {
    let scene = Scene::new();
    add_hook(&scene, "post-checkout", "echo no luck; exit 3");
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let made = scene.create(&record);
    assert_eq!(made.hook_failed, Some(3));
    assert!(made.messages.contains("no luck"), "{:?}", made.messages);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn a_hook_that_changes_files_makes_the_worktree_dirty() {
    let scene = Scene::new();
    add_hook(&scene, "post-checkout", "echo generated > new");
    let record = scene.worktree();
    assert_eq!(scene.kept(&record).len(), 1);
}

//! The user's hooks run when a worktree is made, and never when it is judged or removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use kennel_worktree::{BranchFate, Hooks, make};

use crate::scene::Scene;

pub(crate) fn add_hook(scene: &Scene, name: &str, text: &str) {
    let hooks = scene.repo.join(".git/hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    fs::write(hooks.join(name), format!("#!/bin/sh\n{text}\n")).expect("written");
    fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn they_run_unless_told_not_to() {
    let scene = Scene::new();
    add_hook(
        &scene,
        "post-checkout",
        "echo hook at work; pwd > \"$HOME/ran\"; umask > \"$HOME/umask\"",
    );
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let made = scene.make(&record);
    assert!(made.said.contains("hook at work"), "{:?}", made.said);
    let ran = fs::read_to_string(scene.at("ran")).expect("it ran");
    assert_eq!(ran.trim_end(), record.path.to_str().expect("text"));
    assert_eq!(fs::read_to_string(scene.at("umask")).expect("it ran").trim_end(), "0022");
    let _fate = scene.gone(&record);
    fs::remove_file(scene.at("ran")).expect("removed");
    make(&scene.tool().with_hooks(Hooks::Off), &record).expect("made");
    assert!(!scene.at("ran").exists());
}

/// As for the user: the hook's failure is told, the worktree is there.
#[test]
fn one_that_fails_is_told() {
    let scene = Scene::new();
    add_hook(&scene, "post-checkout", "echo no luck; exit 3");
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let made = scene.make(&record);
    assert_eq!(made.hook_failed, Some(3));
    assert!(made.said.contains("no luck"), "{:?}", made.said);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

#[test]
fn one_that_changes_files_makes_it_dirty() {
    let scene = Scene::new();
    add_hook(&scene, "post-checkout", "echo generated > new");
    let record = scene.made();
    assert_eq!(scene.kept(&record).len(), 1);
}

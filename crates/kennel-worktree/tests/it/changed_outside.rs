//! Worktrees that the user or another program changed.

use std::fs;

use kennel_worktree::{
    BranchOutcome, DiskState, KeepReason, RemoveWorktreeError, force_remove, inspect, remove,
};

use crate::scene::Scene;

#[test]
fn keeps_a_moved_worktree() {
    let scene = Scene::new();
    let record = scene.worktree();
    let to = scene.at("moved");
    let (from, text) = (record.path.to_str().expect("text"), to.to_str().expect("text"));
    scene.git(&["worktree", "move", from, text]);
    assert_eq!(scene.kept(&record), [KeepReason::Moved(to.clone())]);
    let refused = force_remove(&scene.tool(), &record).expect_err("not ours");
    assert!(matches!(refused, RemoveWorktreeError::NotOurs(KeepReason::Moved(_))), "{refused:?}");
    scene.git(&["worktree", "move", text, from]);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn keeps_a_worktree_without_its_repository() {
    let scene = Scene::new();
    let record = scene.worktree();
    fs::remove_dir_all(&scene.repo).expect("removed");
    assert_eq!(scene.kept(&record), [KeepReason::RepositoryGone]);
    let _lost = force_remove(&scene.tool(), &record).expect("removed");
    assert!(!record.path.exists());
}

/// The parent folder is missing, as on an unmounted disk.
#[test]
fn keeps_a_worktree_on_an_unmounted_disk() {
    let scene = Scene::new();
    let record = scene.worktree();
    let aside = scene.at("aside");
    fs::rename(&scene.parent, &aside).expect("as if not mounted");
    fs::create_dir(&scene.parent).expect("the mount point");
    assert_eq!(scene.kept(&record), [KeepReason::ParentGone]);
    fs::remove_dir(&scene.parent).expect("removed");
    fs::rename(&aside, &scene.parent).expect("mounted again");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

#[test]
fn keeps_a_worktree_without_its_git_entry() {
    let scene = Scene::new();
    let record = scene.worktree();
    fs::remove_dir_all(scene.repo.join(".git/worktrees")).expect("removed");
    assert_eq!(scene.kept(&record), [KeepReason::Unregistered]);
}

#[test]
fn keeps_a_worktree_that_cannot_be_inspected() {
    let scene = Scene::new();
    let record = scene.worktree();
    let entry = scene.repo.join(".git/worktrees").join(record.path.file_name().expect("a name"));
    fs::write(entry.join("index"), "nonsense").expect("broken");
    let refused = remove(&scene.tool(), &record).expect_err("can't be judged");
    assert!(matches!(refused, RemoveWorktreeError::Inspect(_)), "{refused:?}");
    assert!(record.path.join("file").exists());
    assert!(kennel_worktree::losses(&scene.tool(), &record).unknown.is_some());
    let lost = force_remove(&scene.tool(), &record).expect("removed");
    assert!(lost.unknown.is_some());
    scene.assert_nothing_left(&record);
}

#[test]
fn reads_relative_paths_of_newer_gits() {
    let scene = Scene::new();
    let record = scene.worktree();
    let name = record.path.file_name().expect("a name").to_str().expect("text");
    let entry = scene.repo.join(".git/worktrees").join(name);
    let below = "place/of worktrees";
    fs::write(entry.join("gitdir"), format!("../../../../{below}/{name}/.git\n")).expect("written");
    fs::write(record.path.join(".git"), format!("gitdir: ../../../repo/.git/worktrees/{name}\n"))
        .expect("written");
    assert_eq!(inspect(&scene.tool(), &record).expect("judged").state, DiskState::Complete);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

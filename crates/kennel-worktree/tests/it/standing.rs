//! What somebody else did to a worktree.

use std::fs;

use kennel_worktree::{BranchFate, RemoveError, Standing, Why, judge, remove, remove_anyway};

use crate::scene::Scene;

#[test]
fn one_that_was_moved_is_kept() {
    let scene = Scene::new();
    let record = scene.made();
    let to = scene.at("moved");
    let (from, text) = (record.path.to_str().expect("text"), to.to_str().expect("text"));
    scene.git(&["worktree", "move", from, text]);
    assert_eq!(scene.kept(&record), [Why::Moved(to.clone())]);
    let refused = remove_anyway(&scene.tool(), &record).expect_err("not ours");
    assert!(matches!(refused, RemoveError::NotOurs(Why::Moved(_))), "{refused:?}");
    scene.git(&["worktree", "move", text, from]);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

#[test]
fn one_whose_repository_is_gone_is_kept() {
    let scene = Scene::new();
    let record = scene.made();
    fs::remove_dir_all(&scene.repo).expect("removed");
    assert_eq!(scene.kept(&record), [Why::RepositoryGone]);
    let _lost = remove_anyway(&scene.tool(), &record).expect("removed");
    assert!(!record.path.exists());
}

/// The whole place is away: a disk that is not mounted, for all we know.
#[test]
fn one_whose_place_is_away_is_kept() {
    let scene = Scene::new();
    let record = scene.made();
    let aside = scene.at("aside");
    fs::rename(&scene.place, &aside).expect("as if not mounted");
    fs::create_dir(&scene.place).expect("the mount point");
    assert_eq!(scene.kept(&record), [Why::PlaceGone]);
    fs::remove_dir(&scene.place).expect("removed");
    fs::rename(&aside, &scene.place).expect("mounted again");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

#[test]
fn one_that_git_was_made_to_forget_is_kept() {
    let scene = Scene::new();
    let record = scene.made();
    fs::remove_dir_all(scene.repo.join(".git/worktrees")).expect("removed");
    assert_eq!(scene.kept(&record), [Why::Unregistered]);
}

/// A failed look is not good news.
#[test]
fn one_that_cannot_be_judged_is_kept() {
    let scene = Scene::new();
    let record = scene.made();
    let entry = scene.repo.join(".git/worktrees").join(record.path.file_name().expect("a name"));
    fs::write(entry.join("index"), "nonsense").expect("broken");
    let refused = remove(&scene.tool(), &record).expect_err("can't be judged");
    assert!(matches!(refused, RemoveError::Judge(_)), "{refused:?}");
    assert!(record.path.join("file").exists());
    assert!(kennel_worktree::losses(&scene.tool(), &record).unknown.is_some());
    let lost = remove_anyway(&scene.tool(), &record).expect("removed");
    assert!(lost.unknown.is_some());
    scene.assert_nothing_left(&record);
}

#[test]
fn relative_paths_of_newer_gits_are_read() {
    let scene = Scene::new();
    let record = scene.made();
    let name = record.path.file_name().expect("a name").to_str().expect("text");
    let entry = scene.repo.join(".git/worktrees").join(name);
    let below = "place/of worktrees";
    fs::write(entry.join("gitdir"), format!("../../../../{below}/{name}/.git\n")).expect("written");
    fs::write(record.path.join(".git"), format!("gitdir: ../../../repo/.git/worktrees/{name}\n"))
        .expect("written");
    assert_eq!(judge(&scene.tool(), &record).expect("judged").standing, Standing::Whole);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

//! Git's own house-keeping at the same time.

use std::process::{Child, Command, Stdio};

use kennel_worktree::{BranchFate, Removed, remove};

use crate::scene::{Scene, write};

fn start_gc(scene: &Scene) -> Child {
    let mut gc = Command::new("git");
    gc.args(["gc", "-q", "--force"]).current_dir(&scene.repo);
    gc.env_clear().envs(scene.environment()).stderr(Stdio::null());
    gc.spawn().expect("git runs")
}

#[test]
fn the_repository_stays_whole() {
    let scene = Scene::new();
    for number in 0..40 {
        scene.write("file", &format!("{number}\n"));
        scene.commit_all(&format!("commit {number}"));
    }
    for round in 0..5 {
        let mut gc = start_gc(&scene);
        let record = scene.made();
        write(&record.path, "file", &format!("of session {round}\n"));
        let own = scene.commit_in(&record.path, "of its own");
        assert_eq!(scene.kept(&record).len(), 1);
        let _status = gc.wait().expect("ended");
        let mut gc = start_gc(&scene);
        scene.git(&["update-ref", &format!("refs/tags/round{round}"), &own]);
        let removed = remove(&scene.tool(), &record).expect("no error");
        let _status = gc.wait().expect("ended");
        let fate = BranchFate::Deleted { tip: own.clone() };
        assert_eq!(removed, Removed::Gone { branch: fate });
        // The gc may have made the entry anew, to look for reflogs in it; the next one removes it.
        scene.git(&["gc", "-q"]);
        scene.assert_nothing_left(&record);
        scene.assert_whole();
        scene.git(&["cat-file", "-e", &own]);
    }
}

/// Killed in the middle, as the whole tree of a session is, it leaves its rubbish but no harm.
#[test]
fn one_that_was_killed_does_no_harm() {
    let scene = Scene::new();
    for number in 0..20 {
        scene.commit_all(&format!("commit {number}"));
    }
    let record = scene.made();
    let mut gc = start_gc(&scene);
    gc.kill().expect("killed");
    let _status = gc.wait().expect("ended");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

/// Nothing that we call starts any in the background, however much there is to do.
#[test]
fn none_is_started_by_us() {
    let scene = Scene::new();
    scene.git(&["config", "gc.auto", "1"]);
    scene.git(&["config", "gc.autoDetach", "false"]);
    let record = scene.made();
    let _fate = scene.gone(&record);
    assert!(!scene.repo.join(".git/objects/info/packs").exists(), "there was a gc");
}

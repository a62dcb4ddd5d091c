//! C4: a worktree that can't be removed stays owed and visible, and is removed when possible.

use std::path::Path;
use std::process::Command;

use kennel_testing::{Pen, Scene, Who, signal};

use super::Repo;

/// A mount in a worktree; dropping it unmounts.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0).status().ok();
    }
}

#[test]
fn a_worktree_that_cannot_be_removed_is_owed() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let script = "mkdir ignored && mount -t tmpfs kennel-test ignored";
    let ended = repo.run(&["--worktree", "--name", "x"], script);
    assert_eq!(ended.code, 0, "{ended:?}");
    let session = scene.session("x");
    let owed = session["owed"].as_array().expect("a list");
    let owed = owed.iter().find(|owed| owed["what"]["kind"] == "worktree");
    let owed = owed.unwrap_or_else(|| panic!("it is owed: {session:#}"));
    let path = owed["what"]["path"].as_str().expect("a path").to_owned();
    let mount = [format!("{path}/ignored"), format!("{path}.removing/ignored")];
    let mount = mount.iter().map(Path::new).find(|path| path.exists()).expect("the mount");
    let mounted = Mounted(mount);
    assert!(ended.stderr.contains("can't be removed yet"), "{ended:?}");
    let listed = repo.listed();
    assert_eq!(listed[0]["state"], "owed", "{listed:?}");
    assert!(listed[0]["failures"].as_u64() > Some(0), "{listed:?}");
    assert!(scene.call_ok(&["inspect", "x"]).contains("Pending cleanup"));
    assert!(scene.call_ok(&["doctor"]).contains("failed cleanup"));
    let refused = scene.call(&["rm", "x"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    // The next daemon knows it from the record.
    signal(scene.daemon().expect("a daemon"), "KILL");
    assert_eq!(repo.listed()[0]["state"], "owed");
    drop(mounted);
    scene.wait_phase("x", "cleaned");
    repo.assert_settled();
    scene.stop_daemon();
}

//! If a worktree can't be created, nothing starts, and the reason is reported.

use std::fs;
use std::path::Path;
use std::process::Command;

use kennel_testing::{Pen, Running, Scene, Who};

use super::Repo;
use crate::launch_and_cancel::scene_with_points;

#[track_caller]
fn assert_refused(repo: &Repo<'_>, folder: &Path, flag: &str, why: &str) {
    let ran = repo.scene.path("work/ran");
    let ended = repo.start_in(folder, &[flag], &format!("touch {}", ran.display())).wait();
    assert_eq!(ended.code, 202, "{ended:?}");
    assert!(ended.stderr.contains(why), "{why:?}: {ended:?}");
    assert!(!ran.exists(), "it ran although it was refused");
    assert_eq!(repo.scene.sessions(), Vec::<serde_json::Value>::new(), "it is on record");
    assert_eq!(repo.worktree_names(), Vec::<String>::new());
}

#[test]
fn impossible_worktrees_are_refused_with_the_reason() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::empty(&scene);
    assert_refused(&repo, &repo.path, "--worktree", "has no commit yet");
    repo.shell("git commit -q --allow-empty -m first && git branch kennel && git branch side");
    assert_refused(&repo, &scene.path("work"), "--worktree", "is not in a git repository");
    assert_refused(&repo, &repo.path, "--worktree=main", "the branch main is checked out at");
    assert_refused(&repo, &repo.path, "--worktree=a..b", "invalid branch name");
    assert_refused(&repo, &repo.path, "--worktree", "while the branch kennel exists;");
    repo.shell("git branch -D -q kennel && git worktree add -q ../other side");
    assert_refused(&repo, &repo.path, "--worktree=side", "the branch side is checked out at");
    scene.stop_daemon();
}

#[test]
fn a_branch_of_another_session_is_refused() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let first = repo.start(&["--worktree=shared", "-d", "--name", "x"], "exec sleep 100").wait();
    assert_eq!(first.code, 0, "{first:?}");
    let second = repo.run(&["--worktree=shared"], "true");
    assert_eq!(second.code, 202, "{second:?}");
    assert!(second.stderr.contains("the branch shared is checked out at"), "{second:?}");
    scene.call_ok(&["stop", "x"]);
    repo.assert_settled();
    scene.stop_daemon();
}

#[test]
fn a_bare_repository_works() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let bare = scene.path("work/bare.git");
    repo.shell(&format!("git clone -q --bare . {}", bare.display()));
    let ended =
        repo.start_in(&bare, &["--worktree"], "cat file; git rev-parse --git-common-dir").wait();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.stdout, format!("one\n{}\n", bare.display()));
    assert_eq!(repo.worktree_names(), Vec::<String>::new());
    assert_eq!(repo.shell_in(&bare, "git branch --list 'kennel/*'; git worktree prune -n"), "");
    scene.stop_daemon();
}

/// A small disk only for worktrees.
struct WorktreeDisk(std::path::PathBuf);

impl WorktreeDisk {
    fn new(scene: &Scene) -> Self {
        let path = scene.path("work/small");
        fs::create_dir(&path).expect("mkdir");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m,mode=0755", "kennel-test"]).arg(&path);
        assert!(mount.status().expect("mount is there").success());
        Self(path)
    }
}

impl Drop for WorktreeDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

#[test]
fn a_full_disk_is_reported_before_and_during_creation() {
    let Some((scene, faults)) = scene_with_points(Who::Root, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let small = WorktreeDisk::new(&scene);
    let mut start = scene.kennel(&["daemon", "start"]);
    start.env("KENNEL_DAEMON_WORKTREES", &small.0);
    assert_eq!(Running::start(start).wait().code, 0);
    repo.shell(
        "head -c 6000000 /dev/zero | tr '\\0' x > large && git add large && git commit -qm large",
    );
    assert_refused(&repo, &repo.path, "--worktree", "the disk is full");
    repo.shell("git reset -q --hard HEAD^ && head -c 1500000 /dev/urandom > medium && git add . && git commit -qm m");
    faults.arm("daemon.worktree.make");
    let run = repo.start(&["--worktree", "--name", "x"], "true");
    faults
        .wait_reached("daemon.worktree.make", std::time::Duration::from_secs(20))
        .expect("it is planned");
    fs::write(small.0.join("filling"), vec![b'x'; 3_000_000]).expect("written");
    faults.disarm("daemon.worktree.make");
    let ended = run.wait();
    assert_eq!(ended.code, 202, "{ended:?}");
    assert!(ended.stderr.contains("is full"), "{ended:?}");
    scene.wait_phase("x", "cleaned");
    fs::remove_file(small.0.join("filling")).expect("removed");
    let left: Vec<_> = fs::read_dir(&small.0).expect("the place").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let ended = repo.run(&["--worktree"], "pwd");
    assert!(
        ended.code == 0 && ended.stdout.starts_with(small.0.to_str().expect("plain")),
        "{ended:?}"
    );
    repo.assert_settled();
    scene.stop_daemon();
}

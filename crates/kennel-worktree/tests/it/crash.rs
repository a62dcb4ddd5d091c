//! Killed at any moment, with the git it had started or without: what is left is found and settled.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use kennel_testing::signal;
use kennel_worktree::{BranchFate, Git, Limits, Record, Removed, Standing, judge, make, remove};

use crate::scene::Scene;

const RECORD: &str = "KENNEL_TEST_RECORD";
const ROUNDS: u64 = 24;

/// Not a test of its own: the process that is killed. It makes a worktree, then removes it, again and again.
#[test]
fn victim() {
    let Some(file) = std::env::var_os(RECORD) else { return };
    let record: Record =
        serde_json::from_slice(&fs::read(file).expect("there")).expect("a record");
    let git = Git::new(std::env::vars_os());
    loop {
        make(&git, &record).expect("made");
        let removed = remove(&git, &record).expect("removed");
        assert!(matches!(removed, Removed::Gone { .. }), "{removed:?}");
    }
}

fn start_victim(scene: &Scene, record: &Path) -> Child {
    let mut victim = Command::new(std::env::current_exe().expect("a path"));
    victim.args(["--exact", "crash::victim", "--nocapture", "--test-threads=1"]);
    victim.env_clear().envs(scene.environment()).env(RECORD, record);
    victim.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started")
}

/// All processes below this one; those whose parent died are another's.
fn below(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut next = 0;
    while let Some(parent) = all.get(next).copied() {
        next += 1;
        for thread in fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            all.extend(children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    all
}

fn kill_all(victim: &mut Child, with_git: bool) {
    // Stopped from the top down, so that no child is missed.
    let mut all = vec![victim.id()];
    if with_git {
        for _ in 0..3 {
            for pid in &all {
                signal(*pid, rustix::process::Signal::STOP);
            }
            all = below(victim.id());
        }
        for pid in all.iter().rev() {
            signal(*pid, rustix::process::Signal::KILL);
        }
    }
    victim.kill().expect("killed");
    let _status = victim.wait().expect("reaped");
}

/// Pseudo-random, but the same in every run: no seed to print.
fn pause(round: u64) -> Duration {
    let mixed = (round + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    Duration::from_micros(15_000 + mixed % 120_000)
}

#[test]
fn at_any_moment() {
    let scene = Scene::new();
    for number in 0..60 {
        scene.write(&format!("files/{number}"), &"text\n".repeat(200));
    }
    scene.commit_all("some files");
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let file = scene.at("record");
    fs::write(&file, serde_json::to_string(&record).expect("text")).expect("written");
    let limits = Limits { locks: Duration::from_secs(3), ..Limits::default() };
    let git = scene.tool().with_limits(limits);
    for round in 0..ROUNDS {
        let mut victim = start_victim(&scene, &file);
        thread::sleep(pause(round));
        kill_all(&mut victim, round % 2 == 0);
        if round % 3 == 0 {
            make(&git, &record).unwrap_or_else(|error| panic!("round {round}: {error:?}"));
            let found = judge(&git, &record).expect("judged");
            assert_eq!(found.standing, Standing::Whole, "round {round}");
            assert!(found.changes.is_none(), "round {round}: {found:?}");
        }
        let removed = remove(&git, &record).unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        let Removed::Gone { branch } = removed else { panic!("round {round}: {removed:?}") };
        assert!(matches!(branch, BranchFate::Deleted { .. } | BranchFate::Absent), "round {round}: {branch:?}");
        scene.assert_nothing_left(&record);
        assert!(!scene.has_branch(&record.branch), "round {round}");
    }
}

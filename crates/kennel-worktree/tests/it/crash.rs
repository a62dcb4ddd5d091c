//! A caller that is killed at any moment, with or without its git: the next call cleans up.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use kennel_worktree::{
    BranchOutcome, DiskState, Git, GitLimits, RemoveOutcome, WorktreeRecord, create, inspect,
    remove,
};

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::scene::Scene;

const RECORD: &str = "KENNEL_TEST_RECORD";
const ROUNDS: u64 = 20;

/// Not a test: the process that is killed. It creates and removes a worktree in a loop.
#[test]
fn victim() {
    let Some(file) = std::env::var_os(RECORD) else { return };
    let record: WorktreeRecord =
        serde_json::from_slice(&fs::read(file).expect("there")).expect("a record");
    let git = Git::new(std::env::vars_os());
    loop {
        create(&git, &record).expect("made");
        let removed = remove(&git, &record).expect("removed");
        assert!(matches!(removed, RemoveOutcome::Gone { .. }), "{removed:?}");
    }
}

fn start_victim(scene: &Scene, record: &Path) -> Child {
    let mut victim = Command::new(std::env::current_exe().expect("a path"));
    victim.args(["--exact", "crash::victim", "--nocapture", "--test-threads=1"]);
    victim.env_clear().envs(scene.environment()).env(RECORD, record);
    victim.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started")
}

/// Returns all descendants of a process, except those whose parent died.
fn below(top: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc can be listed");
    let all: Vec<i32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    let pairs: Vec<(i32, i32)> =
        all.into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![top];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(pairs.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
    }
    found
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_the_name) = stat.rsplit_once(')')?;
    behind_the_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn send(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a pid");
    match rustix::process::kill_process(pid, signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => panic!("can't signal {pid:?}: {error}"),
    }
}

fn kill_all(victim: &mut Child, with_git: bool) {
    let top = i32::try_from(victim.id()).expect("a pid");
    if with_git {
        // Stop repeatedly from the top down, so that no child is missed.
        let mut stopped = Vec::new();
        loop {
            let all = below(top);
            if all == stopped {
                break;
            }
            all.iter().for_each(|pid| send(*pid, Signal::STOP));
            stopped = all;
        }
        stopped.iter().rev().for_each(|pid| send(*pid, Signal::KILL));
    }
    victim.kill().expect("killed");
    let _status = victim.wait().expect("reaped");
}

/// Ages the lock of packed references that a git leaves when it is killed while it deletes a
/// branch.
fn age_stale_lock(record: &WorktreeRecord) {
    match fs::File::open(record.repo.join("packed-refs.lock")) {
        Ok(lock) => {
            let long_ago = SystemTime::now() - Duration::from_secs(3600);
            lock.set_modified(long_ago).expect("set back");
        }
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
    }
}

/// Returns a pseudo-random pause that is the same in every run.
fn pause(round: u64) -> Duration {
    let mixed = (round + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    Duration::from_micros(15_000 + mixed % 250_000)
}

#[test]
fn recovers_from_a_kill_at_any_moment() {
    let scene = Scene::new();
    for number in 0..60 {
        scene.write(&format!("files/{number}"), &"text\n".repeat(200));
    }
    scene.commit_all("some files");
    let record = scene.plan(&scene.repo, None).expect("a plan").record;
    let file = scene.at("record");
    fs::write(&file, serde_json::to_string(&record).expect("text")).expect("written");
    let limits = GitLimits { locks: Duration::from_secs(3), ..GitLimits::default() };
    let git = scene.tool().with_limits(limits);
    for round in 0..ROUNDS {
        let mut victim = start_victim(&scene, &file);
        thread::sleep(pause(round));
        let ended = victim.try_wait().expect("our own child");
        assert!(ended.is_none(), "round {round}: it ended by itself: {ended:?}");
        kill_all(&mut victim, round % 2 == 0);
        age_stale_lock(&record);
        if round % 3 == 0 {
            create(&git, &record).unwrap_or_else(|error| panic!("round {round}: {error:?}"));
            let found = inspect(&git, &record).expect("judged");
            assert_eq!(found.state, DiskState::Complete, "round {round}");
            assert!(found.changes.is_none(), "round {round}: {found:?}");
        }
        let removed =
            remove(&git, &record).unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        let RemoveOutcome::Gone { branch } = removed else { panic!("round {round}: {removed:?}") };
        assert!(
            matches!(branch, BranchOutcome::Deleted { .. } | BranchOutcome::Absent),
            "round {round}: {branch:?}"
        );
        scene.assert_nothing_left(&record);
        assert!(!scene.has_branch(&record.branch), "round {round}");
    }
}

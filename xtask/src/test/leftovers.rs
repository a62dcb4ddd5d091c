//! Checks that the tests left no process and no cgroup behind.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

/// How long a process or a cgroup may take to disappear: a test does not wait for the last
/// instruction of a process, and another user of this machine may run Kennel too.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The environment variable that every process of a session has.
const COOKIE: &[u8] = b"KENNEL_HOME_ID=";

/// Something that a session or a test has created.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leftover {
    /// A cgroup with Kennel's prefix.
    Cgroup(PathBuf),
    /// A process of a session: its pid, and its start time in case the pid is reused.
    Process(u32, u64),
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leftover::Cgroup(path) => write!(f, "cgroup {}", path.display()),
            Leftover::Process(pid, _) => {
                let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let command = String::from_utf8_lossy(&command).replace('\0', " ");
                write!(f, "process {pid}: {}", command.trim_end())
            }
        }
    }
}

/// Returns every process and cgroup of Kennel that is visible to this user.
pub(crate) fn find() -> BTreeSet<Leftover> {
    let mut leftovers: BTreeSet<Leftover> = processes().collect();
    if let Some(mount) = cgroup_mount() {
        add_cgroups(&mount, &mut leftovers);
    }
    leftovers
}

/// Fails if something exists that did not exist before, and does not disappear.
pub(crate) fn check(before: &BTreeSet<Leftover>) -> anyhow::Result<()> {
    let mut new: BTreeSet<Leftover> = find().difference(before).cloned().collect();
    let deadline = Instant::now() + TIMEOUT;
    while !new.is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(100));
        // Anything that appears only now does not belong to the tests.
        new = new.intersection(&find()).cloned().collect();
    }
    if new.is_empty() {
        println!("nothing");
        return Ok(());
    }
    let list: String = new.iter().map(|leftover| format!("\n  {leftover}")).collect();
    bail!("left behind by the tests, or by a session that was started meanwhile:{list}")
}

fn processes() -> impl Iterator<Item = Leftover> {
    // If this program runs inside a session, that session has processes all the time.
    let own = fs::read("/proc/self/environ").ok().and_then(|own| cookie(&own));
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(move |pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let found = cookie(&environment).filter(|found| Some(found) != own.as_ref());
            found.and_then(|_| Some(Leftover::Process(pid, start_time(pid)?)))
        })
}

/// Returns the cookie in an environment, in the format of `/proc/PID/environ`.
fn cookie(environment: &[u8]) -> Option<Vec<u8>> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| variable.strip_prefix(COOKIE).map(<[u8]>::to_vec))
}

fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn cgroup_mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split(' ').nth(4).map(PathBuf::from)
}

fn add_cgroups(folder: &Path, leftovers: &mut BTreeSet<Leftover>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy().starts_with("kennel-") {
            leftovers.insert(Leftover::Cgroup(entry.path()));
        }
        add_cgroups(&entry.path(), leftovers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn finds_a_process_of_a_session_until_it_ends() {
        let mut sleep = Command::new("sleep");
        let mut child = sleep.arg("60").env("KENNEL_HOME_ID", "of-this-test").spawn().unwrap();
        let id = child.id();
        let is_found = || {
            find()
                .iter()
                .any(|leftover| matches!(leftover, Leftover::Process(pid, _) if *pid == id))
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_found() {
            assert!(Instant::now() < deadline);
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_found());
    }

    #[test]
    fn finds_the_cookie_anywhere_in_the_environment() {
        assert_eq!(cookie(b"A=1\0KENNEL_HOME_ID=x\0"), Some(b"x".to_vec()));
        assert_eq!(cookie(b"A=KENNEL_HOME_ID=x\0"), None);
    }
}

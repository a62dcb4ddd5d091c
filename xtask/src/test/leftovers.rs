//! Whether the tests left anything: the tests of a program that leaves nothing must not either.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

/// How long something may take to go: a test does not wait for the very last instruction of a process,
/// and somebody else on this machine may use Kennel as well.
const PATIENCE: Duration = Duration::from_secs(10);

/// The variable that every process of a session is started with.
const COOKIE: &[u8] = b"KENNEL_HOME_ID=";

/// Something of Kennel's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thing {
    /// A cgroup with its name, of a session or of a test.
    Cgroup(PathBuf),
    /// A process of a session: its pid, and when it was started, so that no other is taken for it.
    Process(u32, u64),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Thing::Cgroup(path) => write!(f, "cgroup {}", path.display()),
            Thing::Process(pid, _) => {
                let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let command = String::from_utf8_lossy(&command).replace('\0', " ");
                write!(f, "process {pid}: {}", command.trim_end())
            }
        }
    }
}

/// Everything of Kennel's on this machine, as far as we may see it.
pub(crate) fn look() -> BTreeSet<Thing> {
    let mut things: BTreeSet<Thing> = processes().collect();
    if let Some(mount) = cgroup_mount() {
        add_cgroups(&mount, &mut things);
    }
    things
}

/// Fails if something is there that was not there before, and stays.
pub(crate) fn check(before: &BTreeSet<Thing>) -> anyhow::Result<()> {
    let mut new: BTreeSet<Thing> = look().difference(before).cloned().collect();
    let deadline = Instant::now() + PATIENCE;
    while !new.is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(100));
        // What has come meanwhile is not the tests'.
        new = new.intersection(&look()).cloned().collect();
    }
    if new.is_empty() {
        println!("nothing");
        return Ok(());
    }
    let list: String = new.iter().map(|thing| format!("\n  {thing}")).collect();
    bail!("the tests left these, or somebody started a session meanwhile:{list}")
}

fn processes() -> impl Iterator<Item = Thing> {
    // Of a session that we are in ourselves there is always somebody.
    let own = fs::read("/proc/self/environ").ok().and_then(|own| cookie(&own));
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(move |pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let found = cookie(&environment).filter(|found| Some(found) != own.as_ref());
            found.and_then(|_| Some(Thing::Process(pid, start_time(pid)?)))
        })
}

/// The cookie in an environment as `/proc` shows it.
fn cookie(environment: &[u8]) -> Option<Vec<u8>> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| variable.strip_prefix(COOKIE).map(<[u8]>::to_vec))
}

fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let (_, behind_the_name) = stat.rsplit_once(')')?;
    behind_the_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn cgroup_mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split(' ').nth(4).map(PathBuf::from)
}

fn add_cgroups(folder: &Path, things: &mut BTreeSet<Thing>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy().starts_with("kennel-") {
            things.insert(Thing::Cgroup(entry.path()));
        }
        add_cgroups(&entry.path(), things);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_of_a_session_is_seen_until_it_is_gone() {
        let mut sleep = Command::new("sleep");
        let mut child = sleep.arg("60").env("KENNEL_HOME_ID", "of-this-test").spawn().unwrap();
        let id = child.id();
        let is_seen =
            || look().iter().any(|thing| matches!(thing, Thing::Process(pid, _) if *pid == id));
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_seen() {
            assert!(Instant::now() < deadline);
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_seen());
    }

    #[test]
    fn a_cookie_is_found_wherever_it_stands() {
        assert_eq!(cookie(b"A=1\0KENNEL_HOME_ID=x\0"), Some(b"x".to_vec()));
        assert_eq!(cookie(b"A=KENNEL_HOME_ID=x\0"), None);
    }
}

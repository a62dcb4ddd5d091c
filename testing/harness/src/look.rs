//! Observes processes from outside, through `/proc`, independent of Kennel.

use std::fs;
use std::path::{Path, PathBuf};

/// A process, as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The pid.
    pub pid: i32,
    /// The state letter.
    pub state: char,
    /// The parent's pid.
    pub parent: i32,
    /// The command line, with spaces between the arguments.
    pub command: String,
}

impl Process {
    /// Reads the entry of a process in `/proc`.
    #[must_use]
    pub fn look(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, tail) = stat.rsplit_once(')')?;
        let mut fields = tail.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
        Some(Self { pid, state, parent, command })
    }
}

/// Returns whether a process with this pid exists and is not a zombie.
#[must_use]
pub fn alive(pid: i32) -> bool {
    Process::look(pid).is_some_and(|process| !matches!(process.state, 'Z' | 'X'))
}

/// Returns all processes whose program is below this folder.
#[must_use]
pub fn processes_below(folder: &Path) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { panic!("/proc can't be listed") };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.starts_with(folder))
        })
        .filter_map(Process::look)
        .collect()
}

/// Returns where cgroup v2 is mounted.
#[must_use]
pub fn cgroup_mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts
        .lines()
        .find(|line| line.contains(" - cgroup2 "))
        .and_then(|line| line.split(' ').nth(4))
        .map(PathBuf::from)
}

/// Returns whether the tests run as root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns whether this lock is free; a missing file is free. (A keeper releases its lock a moment
/// after the session is over: when the daemon confirms that the outcome is on record.)
#[must_use]
pub fn is_free(lock: &Path) -> bool {
    use rustix::fs::{FlockOperation, flock};
    match fs::File::open(lock) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockShared).is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

//! The processes of a scene and their roles, as seen in `/proc`, independent of Kennel.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kennel_testing::{Process, Scene};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The role of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProcessRole {
    Yard,
    Daemon,
    Spare,
    /// A keeper, or a process that was just forked to become one; with the launch whose files it
    /// has open.
    Keeper(Option<String>),
    /// A process of the session with this name, by its open lock file or its environment.
    Session(String),
    Git,
    /// Another process: a client, or a command in an agent's script.
    Other,
}

/// A process of a scene.
#[derive(Debug, Clone)]
pub(crate) struct SceneProcess {
    pub(crate) process: Process,
    pub(crate) role: ProcessRole,
}

/// The folder in which the agents of a scene write their notes.
pub(crate) fn witness_folder(scene: &Scene) -> PathBuf {
    scene.path("work/witness")
}

/// Returns all processes of a scene except zombies and these bystanders.
pub(crate) fn look(scene: &Scene, bystanders: &BTreeSet<i32>) -> Vec<SceneProcess> {
    let yard = fs::read_to_string(scene.kennel_home().join("yard.lock")).unwrap_or_default();
    let yard = yard.trim().parse().ok();
    let all = scene.all_processes().into_iter();
    let others = all.filter(|it| is_alive(it) && !bystanders.contains(&it.pid));
    others.map(|process| SceneProcess { role: role(scene, &process, yard), process }).collect()
}

/// Returns whether a process with this pid exists and has not ended.
pub(crate) fn lives(pid: i32) -> bool {
    Process::look(pid).is_some_and(|process| is_alive(&process))
}

/// A process whose first thread has ended looks like a zombie, but still runs.
fn is_alive(process: &Process) -> bool {
    let threads = || fs::read_dir(format!("/proc/{}/task", process.pid)).map_or(0, Iterator::count);
    process.state != 'Z' || threads() > 1
}

fn role(scene: &Scene, process: &Process, yard: Option<i32>) -> ProcessRole {
    let named = |name: &str| process.command.starts_with(name);
    // Without its first thread a process has no command line and no descriptors in /proc/PID: use
    // another thread's.
    let (home, witness) = (scene.kennel_home().join("sessions"), witness_folder(scene));
    let open = open_files(process.pid);
    if named("kennel-daemon") {
        return ProcessRole::Daemon;
    }
    if named("kennel-spare") {
        return ProcessRole::Spare;
    }
    if named("kennel-yard") && Some(process.pid) == yard {
        return ProcessRole::Yard;
    }
    // A process that was just forked still looks like the yard.
    if named("kennel-keeper") || named("kennel-yard") {
        return ProcessRole::Keeper(open.iter().find_map(|file| first_below(file, &home)));
    }
    let lock =
        |file: &PathBuf| Some(first_below(file, &witness)?.strip_suffix(".lock")?.to_owned());
    match open.iter().find_map(lock).or_else(|| session_name(process.pid)) {
        Some(name) => ProcessRole::Session(name),
        None if named("git") => ProcessRole::Git,
        None => ProcessRole::Other,
    }
}

/// Returns the first component of a path below a folder.
fn first_below(path: &Path, folder: &Path) -> Option<String> {
    let rest = path.strip_prefix(folder).ok()?;
    Some(rest.components().next()?.as_os_str().to_string_lossy().into_owned())
}

/// Returns the files that a process has open.
pub(crate) fn open_files(pid: i32) -> Vec<PathBuf> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut open: Vec<PathBuf> = Vec::new();
    for thread in threads {
        let descriptors = fs::read_dir(thread.path().join("fd")).into_iter().flatten().flatten();
        open = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok()).collect();
        // All threads share them; a thread that has ended shows none.
        if !open.is_empty() {
            break;
        }
    }
    open
}

/// Returns the session name in the environment of a process.
fn session_name(pid: i32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let name = variables.find_map(|it| it.strip_prefix(b"KENNEL_SESSION_NAME="))?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// A pidfd of a process that belongs to the scene.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    pub(crate) pid: i32,
    handle: OwnedFd,
}

impl ProcessHandle {
    /// Opens a pidfd, and checks again that it refers to the same process.
    pub(crate) fn open(scene: &Scene, found: &SceneProcess) -> Option<Self> {
        let pid = Pid::from_raw(found.process.pid)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let again = Process::look(found.process.pid)?;
        let same = again.parent == found.process.parent && again.command == found.process.command;
        let ours = is_of(scene, found.process.pid);
        let handle = Self { pid: found.process.pid, handle };
        // It still exists, so it is the process that was inspected.
        (same && ours && handle.is_there()).then_some(handle)
    }

    /// Sends a signal; returns whether the process still existed.
    pub(crate) fn send(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.handle, signal).is_ok()
    }

    /// Returns whether the process has not ended.
    pub(crate) fn is_there(&self) -> bool {
        let mut ended = [PollFd::new(&self.handle, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut ended, Some(&at_once)), Ok(0))
    }
}

/// Returns whether a process runs a program in the scene's folder, or is in its cgroup.
fn is_of(scene: &Scene, pid: i32) -> bool {
    let exe = fs::read_link(format!("/proc/{pid}/exe"));
    if exe.is_ok_and(|exe| exe.starts_with(scene.path(""))) {
        return true;
    }
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let folder = scene.path("").file_name().map(|name| name.to_string_lossy().into_owned());
    let unified = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    unified.zip(folder).is_some_and(|(group, folder)| group.split('/').next() == Some(&folder))
}

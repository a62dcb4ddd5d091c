//! Who is there, and whose he is: seen through `/proc`, without a word from Kennel.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kennel_testing::{Process, Scene};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// What a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    Yard,
    Daemon,
    Spare,
    /// A keeper, or one that is just forked; of the launch whose files it has open.
    Keeper(Option<String>),
    /// Of the session with this name, by the lock that it has open or by its environment.
    Session(String),
    Git,
    /// None of these: a client, or what a script of an agent runs.
    Other,
}

/// A process of a scene.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) process: Process,
    pub(crate) role: Role,
}

/// Where the agents of a scene note what they do.
pub(crate) fn witness_folder(scene: &Scene) -> PathBuf {
    scene.path("work/witness")
}

/// Everyone of a scene who is no zombie, but for these.
pub(crate) fn look(scene: &Scene, bystanders: &BTreeSet<i32>) -> Vec<Found> {
    let yard = fs::read_to_string(scene.kennel_home().join("yard.lock")).unwrap_or_default();
    let yard = yard.trim().parse().ok();
    let all = scene.all_processes().into_iter();
    let others = all.filter(|it| is_alive(it) && !bystanders.contains(&it.pid));
    others.map(|process| Found { role: role(scene, &process, yard), process }).collect()
}

/// Whether there is a process with this number that has not ended.
pub(crate) fn lives(pid: i32) -> bool {
    Process::look(pid).is_some_and(|process| is_alive(&process))
}

/// One whose first thread has ended looks like a zombie, and runs.
fn is_alive(process: &Process) -> bool {
    let threads = || fs::read_dir(format!("/proc/{}/task", process.pid)).map_or(0, Iterator::count);
    process.state != 'Z' || threads() > 1
}

fn role(scene: &Scene, process: &Process, yard: Option<i32>) -> Role {
    let named = |name: &str| process.command.starts_with(name);
    // What has no first thread any more has no command line and no descriptors there: those of another thread tell.
    let (home, witness) = (scene.kennel_home().join("sessions"), witness_folder(scene));
    let open = open_files(process.pid);
    if named("kennel-daemon") {
        return Role::Daemon;
    }
    if named("kennel-spare") {
        return Role::Spare;
    }
    if named("kennel-yard") && Some(process.pid) == yard {
        return Role::Yard;
    }
    // One that was just forked still looks like the yard.
    if named("kennel-keeper") || named("kennel-yard") {
        return Role::Keeper(open.iter().find_map(|file| first_below(file, &home)));
    }
    let lock =
        |file: &PathBuf| Some(first_below(file, &witness)?.strip_suffix(".lock")?.to_owned());
    match open.iter().find_map(lock).or_else(|| session_name(process.pid)) {
        Some(name) => Role::Session(name),
        None if named("git") => Role::Git,
        None => Role::Other,
    }
}

/// The next part of a path behind a folder.
fn first_below(path: &Path, folder: &Path) -> Option<String> {
    let rest = path.strip_prefix(folder).ok()?;
    Some(rest.components().next()?.as_os_str().to_string_lossy().into_owned())
}

/// What a process has open.
pub(crate) fn open_files(pid: i32) -> Vec<PathBuf> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut open: Vec<PathBuf> = Vec::new();
    for thread in threads {
        let descriptors = fs::read_dir(thread.path().join("fd")).into_iter().flatten().flatten();
        open = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok()).collect();
        // All threads have the same; one that has ended has none.
        if !open.is_empty() {
            break;
        }
    }
    open
}

/// The session whose name is in a process's environment.
fn session_name(pid: i32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let name = variables.find_map(|it| it.strip_prefix(b"KENNEL_SESSION_NAME="))?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// A handle of a process that was seen to be the scene's.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) pid: i32,
    handle: OwnedFd,
}

impl Handle {
    /// Opens it, and looks again whether it is who it was taken for.
    pub(crate) fn open(scene: &Scene, found: &Found) -> Option<Self> {
        let pid = Pid::from_raw(found.process.pid)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let again = Process::look(found.process.pid)?;
        let same = again.parent == found.process.parent && again.command == found.process.command;
        let ours = is_of(scene, found.process.pid);
        let handle = Self { pid: found.process.pid, handle };
        // It is still there, so it was the one that we looked at.
        (same && ours && handle.is_there()).then_some(handle)
    }

    /// Sends a signal; whether it was still there.
    pub(crate) fn send(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.handle, signal).is_ok()
    }

    /// Whether it has not ended.
    pub(crate) fn is_there(&self) -> bool {
        let mut ended = [PollFd::new(&self.handle, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut ended, Some(&at_once)), Ok(0))
    }
}

/// Whether a process runs a program of the scene's folder, or is in its cgroup.
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

//! The subtree below this process: listing its processes, and sending them signals.
//!
//! Every descendant whose parent dies is reparented to this process, since it is a subreaper. A pid
//! from `/proc` is only a hint: the process is opened as a pidfd, and counts as a descendant only
//! if its parent is this process, or a confirmed descendant that still exists afterwards.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use kennel_sys::identity::{Birth, ProcessStat};
use kennel_sys::pidfd::{self, SignalDelivery};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;

/// Identifies one process permanently, even if its pid is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProcessKey {
    pub(crate) pid: i32,
    birth: Birth,
}

pub(crate) struct FoundProcess {
    pub(crate) mark: ProcessKey,
    pub(crate) pidfd: OwnedFd,
}

#[derive(Debug, Default)]
pub(crate) struct SignalRound {
    pub(crate) sent: Vec<ProcessKey>,
    /// The processes that this process is not permitted to signal.
    pub(crate) refused: Vec<ProcessKey>,
}

pub(crate) fn open(pid: i32) -> io::Result<Option<FoundProcess>> {
    let Some(pidfd) = pidfd::open(pid)? else {
        return Ok(None);
    };
    let Some(birth) = Birth::of(pidfd.as_fd(), pid)? else { return Ok(None) };
    Ok(Some(FoundProcess { mark: ProcessKey { pid, birth }, pidfd }))
}

/// Returns the pids of the children of `pid`, listed by thread. Some may have exited.
pub(crate) fn children_of(pid: i32) -> io::Result<Vec<i32>> {
    let threads = format!("/proc/{pid}/task");
    // The link count of this folder is two plus the number of threads.
    match rustix::fs::stat(threads.as_str()) {
        Ok(stat) if stat.st_nlink <= 3 => return children_of_thread(pid, pid),
        Ok(_) => {}
        Err(Errno::NOENT | Errno::SRCH) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let threads = match fs::read_dir(threads) {
        Ok(threads) => threads,
        Err(error) if vanished(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut children = Vec::new();
    for thread in threads {
        match thread {
            Ok(thread) => {
                let thread = thread.file_name().to_str().and_then(|name| name.parse().ok());
                children.extend(children_of_thread(pid, thread.unwrap_or(pid))?);
            }
            Err(error) if vanished(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(children)
}

fn children_of_thread(pid: i32, thread: i32) -> io::Result<Vec<i32>> {
    match read_whole(&format!("/proc/{pid}/task/{thread}/children")) {
        Ok(text) => {
            let pids =
                text.split(|byte| *byte == b' ').filter_map(|pid| std::str::from_utf8(pid).ok());
            Ok(pids.filter_map(|pid| pid.parse().ok()).collect())
        }
        Err(Errno::NOENT | Errno::SRCH) if lists_children() => Ok(Vec::new()),
        Err(Errno::NOENT | Errno::SRCH) => scan_for_children_of(pid),
        Err(error) => Err(error.into()),
    }
}

/// Reads a file without asking for its size, which `/proc` does not know.
fn read_whole(path: &str) -> rustix::io::Result<Vec<u8>> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = Vec::with_capacity(4096);
    while rustix::io::read(&file, rustix::buffer::spare_capacity(&mut text))? > 0 {
        text.reserve(64 * 1024);
    }
    Ok(text)
}

fn vanished(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Returns whether this kernel has `/proc/PID/task/TID/children` (`CONFIG_PROC_CHILDREN`).
pub(crate) fn lists_children() -> bool {
    let thread = rustix::thread::gettid().as_raw_pid();
    fs::metadata(format!("/proc/self/task/{thread}/children")).is_ok()
}

/// For kernels without such lists: reads the parent of every process on the machine.
pub(crate) fn scan_for_children_of(parent: i32) -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if ProcessStat::read(pid)?.is_some_and(|stat| stat.parent == parent) {
            children.push(pid);
        }
    }
    Ok(children)
}

/// Visits every descendant of this process once, parents before their children, without the
/// `others` and their descendants. `visit` is called after the children were listed. A process that
/// is reparented meanwhile may be missed, so repeat the walk.
pub(crate) fn walk(
    others: &HashSet<ProcessKey>,
    mut visit: impl FnMut(&FoundProcess) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    let me = rustix::process::getpid().as_raw_pid();
    let mut seen = others.clone();
    // The pids to visit next, with the parent that they were listed under.
    let mut pending = vec![(children_of(me)?, None::<ProcessKey>)];
    while let Some((pids, parent)) = pending.pop() {
        let parent = match parent {
            None => None,
            Some(mark) => match open(mark.pid)?.filter(|found| found.mark == mark) {
                Some(found) => Some(found),
                None => continue, // it exited, and its children were reparented
            },
        };
        for pid in pids {
            let Some(child) = open(pid)? else { continue };
            if !is_ours(&child, me, parent.as_ref())? || !seen.insert(child.mark) {
                continue;
            }
            let below = match children_of(pid) {
                // Another user's process, hidden in /proc. It is reported if it survives.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Vec::new(),
                below => below?,
            };
            if !below.is_empty() {
                pending.push((below, Some(child.mark)));
            }
            if visit(&child)?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn is_ours(child: &FoundProcess, me: i32, parent: Option<&FoundProcess>) -> io::Result<bool> {
    let Some(info) = pidfd::info(child.pidfd.as_fd(), child.mark.pid)? else {
        return Ok(false);
    };
    Ok(info.parent == me
        || parent.is_some_and(|parent| {
            // If the parent still exists now, its pid was its own all the time.
            info.parent == parent.mark.pid && pidfd::exists(parent.pidfd.as_fd())
        }))
}

/// Sends `signal` to every descendant, except to those in `done`. Stops at the deadline.
pub(crate) fn signal(
    signal: Signal,
    done: &HashSet<ProcessKey>,
    others: &HashSet<ProcessKey>,
    deadline: Option<Instant>,
) -> io::Result<SignalRound> {
    let mut round = SignalRound::default();
    walk(others, |found| {
        // A process that has exited and is not reaped yet needs no signal.
        if !done.contains(&found.mark) && !pidfd::has_ended(found.pidfd.as_fd())? {
            match pidfd::send(&found.pidfd, signal)? {
                SignalDelivery::Yes => round.sent.push(found.mark),
                SignalDelivery::Gone => {}
                SignalDelivery::NotPermitted => round.refused.push(found.mark),
            }
        }
        Ok(until(deadline))
    })?;
    Ok(round)
}

fn until(deadline: Option<Instant>) -> ControlFlow<()> {
    match deadline {
        Some(deadline) if deadline <= Instant::now() => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    }
}

/// Sends HUP to every descendant that ignores TERM.
pub(crate) fn hang_up(others: &HashSet<ProcessKey>, deadline: Instant) -> io::Result<()> {
    walk(others, |found| {
        if ignores_term(found.mark.pid) {
            // A process that can't be signalled is reported when the grace is over.
            let _sent = pidfd::send(&found.pidfd, Signal::HUP)?;
        }
        Ok(until(Some(deadline)))
    })
}

/// Returns whether a process ignores TERM, according to `/proc`. The caller holds a pidfd of this
/// pid: at worst the answer is about a later process, and the signal reaches no process.
fn ignores_term(pid: i32) -> bool {
    let status = read_whole(&format!("/proc/{pid}/status")).unwrap_or_default();
    ignores(&String::from_utf8_lossy(&status), Signal::TERM)
}

fn ignores(status: &str, signal: Signal) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal.as_raw() - 1)) != 0
}

/// Returns the user of a process, according to `/proc`.
pub(crate) fn owner_of(pid: i32) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}")).ok().map(|meta| meta.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_list_children_agree() {
        let mut child =
            std::process::Command::new("sleep").arg("30").spawn().expect("sleep starts");
        let pid = i32::try_from(child.id()).expect("a pid");
        let me = rustix::process::getpid().as_raw_pid();
        assert!(lists_children());
        assert!(children_of(me).expect("listed").contains(&pid));
        assert!(scan_for_children_of(me).expect("scanned").contains(&pid));
        child.kill().expect("killed");
        child.wait().expect("reaped");
        assert!(!children_of(me).expect("listed").contains(&pid));
    }

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let bash = "Name:\tbash\nSigBlk:\t0000000000004000\nSigIgn:\t0000000000384004\n";
        assert!(ignores(bash, Signal::TERM) && ignores(bash, Signal::QUIT));
        assert!(!ignores(bash, Signal::HUP) && !ignores(bash, Signal::INT));
        for other in ["", "SigIgn:\tnonsense\n", "SigBlk:\tffffffffffffffff\n"] {
            assert!(!ignores(other, Signal::TERM), "{other:?}");
        }
    }

    #[test]
    fn another_process_with_a_listed_pid_is_not_a_descendant() {
        let found = open(1).expect("init can be looked at").expect("init exists");
        let me = rustix::process::getpid().as_raw_pid();
        assert!(!is_ours(&found, me, None).expect("no error"));
    }
}

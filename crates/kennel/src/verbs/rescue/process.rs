//! Processes of the home, looked up in `/proc`. Nothing is signalled by a number: a handle is opened, and what
//! the process was known by is looked at again.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use kennel_pen::{HOME_COOKIE, HomeId, ProcessIdentity, SESSION_COOKIE};
use kennel_sys::identity::{Birth, ProcessStat};
use kennel_sys::pidfd;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;

use crate::connect::{cookie, holds_file_in};
use crate::foreground::poll;

/// All pids there are.
pub(super) fn all() -> io::Result<Vec<i32>> {
    let names = fs::read_dir("/proc")?.flatten();
    Ok(names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// The session whose cookie the process bears, if it is this home's.
pub(super) fn session_of(pid: i32, home: &HomeId) -> Option<String> {
    // One that can't be looked at is another user's, or gone.
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    (cookie(&environment, HOME_COOKIE) == Some(home.as_str()))
        .then(|| cookie(&environment, SESSION_COOKIE).unwrap_or("unknown").to_owned())
}

/// Its command line, or its name.
pub(super) fn command(pid: i32) -> String {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = text.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words = words.map(String::from_utf8_lossy).collect::<Vec<_>>();
    if words.is_empty() {
        return ProcessStat::read(pid)
            .ok()
            .flatten()
            .map_or_else(String::new, |stat| format!("({})", stat.name));
    }
    words.join(" ")
}

/// Whether it is a keeper of the session with this folder.
pub(super) fn keeps(pid: i32, folder: &Path) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end() == "kennel-keeper" && holds_file_in(pid, folder)
}

/// The keeper of the session with this folder.
pub(super) fn keeper_of(folder: &Path) -> io::Result<Option<i32>> {
    Ok(all()?.into_iter().find(|pid| keeps(*pid, folder)))
}

/// What came of ending a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Killed {
    Yes,
    /// It was gone, or was not the one that was meant.
    NotThere,
    StillAlive,
    NotPermitted,
}

/// Kills the process with this number, if it is still the one that was meant, and waits for its end.
pub(super) fn kill(pid: i32, is_meant: impl Fn() -> bool, deadline: Instant) -> io::Result<Killed> {
    let Some(process) = pidfd::open(pid)? else { return Ok(Killed::NotThere) };
    // Looked at while we hold a handle on it: the number can't be another's.
    if !is_meant() || !pidfd::exists(process.as_fd()) {
        return Ok(Killed::NotThere);
    }
    kill_handle(&process, deadline)
}

/// Kills the process behind a handle, and waits for its end.
pub(super) fn kill_handle(process: &OwnedFd, deadline: Instant) -> io::Result<Killed> {
    // One that has ended and waits for its parent to notice is gone for us.
    if pidfd::has_ended(process.as_fd())? {
        return Ok(Killed::NotThere);
    }
    match pidfd::send(process, Signal::KILL)? {
        pidfd::SignalDelivery::Gone => return Ok(Killed::NotThere),
        pidfd::SignalDelivery::NotPermitted => return Ok(Killed::NotPermitted),
        pidfd::SignalDelivery::Yes => {}
    }
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(deadline))?;
    let ended = pidfd::has_ended(process.as_fd())?;
    Ok(if ended { Killed::Yes } else { Killed::StillAlive })
}

/// A process and all below it, standing still, so that nobody slips away while they are ended one by one.
pub(super) fn hold_still(root: i32, handle: &OwnedFd) -> io::Result<Vec<(i32, OwnedFd)>> {
    let _sent_or_gone = pidfd::send(handle, Signal::STOP)?;
    let mut held: Vec<(i32, OwnedFd)> = Vec::new();
    loop {
        let known = held.len();
        for pid in descendants(root)? {
            if held.iter().any(|(other, _)| *other == pid) {
                continue;
            }
            let Some(process) = pidfd::open(pid)? else { continue };
            // Looked at while we hold a handle on it: the number can't be another's.
            if descendants(root)?.contains(&pid) {
                let _sent_or_gone = pidfd::send(&process, Signal::STOP)?;
                held.push((pid, process));
            }
        }
        if held.len() == known {
            return Ok(held);
        }
    }
}

/// The pids of those below a process.
fn descendants(root: i32) -> io::Result<Vec<i32>> {
    let mut parents = Vec::new();
    for pid in all()? {
        if let Ok(Some(stat)) = ProcessStat::read(pid) {
            parents.push((pid, stat.parent));
        }
    }
    let mut found = vec![root];
    let mut at = 0;
    while let Some(above) = found.get(at).copied() {
        let below = parents.iter().filter(|(child, parent)| *parent == above && *child != above);
        let new = below.map(|(child, _)| *child).filter(|child| !found.contains(child));
        let new = new.collect::<Vec<_>>();
        found.extend(new);
        at += 1;
    }
    found.remove(0);
    Ok(found)
}

/// A handle on the agent that a keeper wrote down, if it lives.
pub(super) fn agent(lines: &[String]) -> io::Result<Option<(ProcessIdentity, OwnedFd)>> {
    let Some(identity) = lines.iter().find_map(|line| identity(line)) else { return Ok(None) };
    let Some(process) = identity.open()? else { return Ok(None) };
    Ok((!pidfd::has_ended(process.as_fd())?).then_some((identity, process)))
}

/// The identity of an agent in the text that its keeper left.
fn identity(line: &str) -> Option<ProcessIdentity> {
    let rest = line.strip_prefix("agent ")?;
    if let Some(identity) = ProcessIdentity::parse(rest) {
        return Some(identity);
    }
    let words = rest.split(' ').collect::<Vec<_>>();
    let [pid, kind, birth, "boot", boot, "namespace", namespace] = words[..] else { return None };
    let birth = birth.parse().ok()?;
    Some(ProcessIdentity {
        boot: boot.to_owned(),
        pid_namespace: namespace.parse().ok()?,
        pid: pid.parse().ok()?,
        birth: match kind {
            "inode" => Birth::Inode(birth),
            "tick" => Birth::Tick(birth),
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn a_process_is_known_by_its_cookie_and_only_then_killed() {
        let home = HomeId::random().unwrap();
        let mut child = Command::new("sleep")
            .arg("300")
            .env(HOME_COOKIE, home.as_str())
            .env(SESSION_COOKIE, "abc")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let is_meant = || session_of(pid, &home).is_some();
        // The exec that gives it its environment may take a moment.
        while !is_meant() {
            std::thread::yield_now();
        }
        assert_eq!(session_of(pid, &home).as_deref(), Some("abc"));
        assert_eq!(session_of(pid, &HomeId::random().unwrap()), None);
        let own = rustix::process::getpid().as_raw_pid();
        assert!(descendants(own).unwrap().contains(&pid));
        assert_eq!(kill(pid, || false, soon()).unwrap(), Killed::NotThere);
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(kill(pid, is_meant, soon()).unwrap(), Killed::Yes);
        child.wait().unwrap();
        assert_eq!(kill(pid, || true, soon()).unwrap(), Killed::NotThere);
    }

    #[test]
    fn a_tree_is_held_still_and_ended_whole() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 300 & sleep 301"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        while descendants(pid).unwrap().len() < 2 {
            std::thread::yield_now();
        }
        let handle = pidfd::open(pid).unwrap().unwrap();
        let below = hold_still(pid, &handle).unwrap();
        assert_eq!(below.len(), 2);
        for (_, process) in &below {
            assert_eq!(kill_handle(process, soon()).unwrap(), Killed::Yes);
        }
        assert_eq!(kill_handle(&handle, soon()).unwrap(), Killed::Yes);
        assert_eq!(
            kill_handle(&handle, soon()).unwrap(),
            Killed::NotThere,
            "a zombie is no process"
        );
        child.wait().unwrap();
    }

    #[test]
    fn an_identity_is_read_from_what_a_keeper_left() {
        let identity = identity("agent 7 inode 99 boot b-o-o-t namespace 5").unwrap();
        assert_eq!(
            (identity.pid, identity.birth, identity.pid_namespace),
            (7, Birth::Inode(99), 5)
        );
        assert_eq!(super::identity(&format!("agent {}", identity.to_record())), Some(identity));
        for line in ["", "keeper 7", "agent x inode 9 boot b namespace 5", "agent 7"] {
            assert_eq!(super::identity(line), None, "{line}");
        }
    }
}

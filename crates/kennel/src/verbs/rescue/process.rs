//! Processes of the home, found in `/proc`. A process is never signalled by its pid: a handle is
//! opened first, and then the process is identified again.

use std::path::Path;
use std::time::Instant;
use std::{fs, io};

use kennel_pen::{HOME_COOKIE, HomeId, ProcessIdentity, SESSION_COOKIE};
use kennel_sys::identity::ProcessStat;
use kennel_sys::pidfd;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;

use crate::connect::{cookie, holds_file_in};
use crate::poll::readable;

pub(super) fn all() -> io::Result<Vec<i32>> {
    let names = fs::read_dir("/proc")?.flatten();
    Ok(names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Returns the session whose cookie the process has, if it is of this home.
pub(super) fn session_of(pid: i32, home: &HomeId) -> Option<String> {
    // A process that can't be read is another user's, or gone.
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    (cookie(&environment, HOME_COOKIE) == Some(home.as_str()))
        .then(|| cookie(&environment, SESSION_COOKIE).unwrap_or("unknown").to_owned())
}

/// Returns the command line or the name of a process.
pub(super) fn command(pid: i32) -> String {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = text.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words = words.map(String::from_utf8_lossy).collect::<Vec<_>>();
    if !words.is_empty() {
        return words.join(" ");
    }
    let stat = ProcessStat::read(pid).ok().flatten();
    stat.map_or_else(String::new, |stat| format!("({})", stat.name))
}

/// Whether the process is the keeper of the session with this folder.
pub(super) fn keeps(pid: i32, folder: &Path) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end() == "kennel-keeper" && holds_file_in(pid, folder)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Killed {
    Yes,
    /// It was gone, or was another process.
    NotThere,
    StillAlive,
    NotPermitted,
}

/// Kills the process with this pid if it is still the intended one, and waits for its end.
pub(super) fn kill(pid: i32, is_meant: impl Fn() -> bool, deadline: Instant) -> io::Result<Killed> {
    let Some(process) = pidfd::open(pid)? else { return Ok(Killed::NotThere) };
    // Checked while the handle is open, so that the pid can't be another process's.
    if !is_meant() || !pidfd::exists(process.as_fd()) {
        return Ok(Killed::NotThere);
    }
    kill_handle(&process, deadline)
}

/// Kills the process behind a handle, and waits for its end.
pub(super) fn kill_handle(process: &OwnedFd, deadline: Instant) -> io::Result<Killed> {
    // A zombie counts as gone.
    if pidfd::has_ended(process.as_fd())? {
        return Ok(Killed::NotThere);
    }
    match pidfd::send(process, Signal::KILL)? {
        pidfd::SignalDelivery::Gone => return Ok(Killed::NotThere),
        pidfd::SignalDelivery::NotPermitted => return Ok(Killed::NotPermitted),
        pidfd::SignalDelivery::Yes => {}
    }
    readable(process, Some(deadline))?;
    let ended = pidfd::has_ended(process.as_fd())?;
    Ok(if ended { Killed::Yes } else { Killed::StillAlive })
}

/// Suspends a process and its descendants, so that none escapes while they are ended one by one.
pub(super) fn suspend_tree(root: i32, handle: &OwnedFd) -> io::Result<Vec<(i32, OwnedFd)>> {
    let _sent_or_gone = pidfd::send(handle, Signal::STOP)?;
    let mut held: Vec<(i32, OwnedFd)> = Vec::new();
    loop {
        let known = held.len();
        for pid in descendants(root)? {
            if held.iter().any(|(other, _)| *other == pid) {
                continue;
            }
            let Some(process) = pidfd::open(pid)? else { continue };
            // Checked while the handle is open, so that the pid can't be another process's.
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

fn descendants(root: i32) -> io::Result<Vec<i32>> {
    let parent = |pid: i32| ProcessStat::read(pid).ok().flatten().map(|stat| stat.parent);
    let parents: Vec<_> = all()?.into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(above) = found.get(at).copied() {
        let below = parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid);
        let new: Vec<_> = below.filter(|pid| !found.contains(pid)).collect();
        found.extend(new);
        at += 1;
    }
    Ok(found.split_off(1))
}

/// Opens the agent whose identity a keeper has recorded, if it lives.
pub(super) fn agent(lines: &[String]) -> io::Result<Option<(ProcessIdentity, OwnedFd)>> {
    let identity =
        lines.iter().find_map(|line| ProcessIdentity::parse(line.strip_prefix("agent ")?));
    let Some(identity) = identity else { return Ok(None) };
    let Some(process) = identity.open()? else { return Ok(None) };
    Ok((!pidfd::has_ended(process.as_fd())?).then_some((identity, process)))
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
    fn kills_only_a_process_with_the_cookie() {
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
        // The environment is visible after the exec.
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
    fn suspends_and_ends_a_whole_tree() {
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
        let below = suspend_tree(pid, &handle).unwrap();
        assert_eq!(below.len(), 2);
        for (_, process) in &below {
            assert_eq!(kill_handle(process, soon()).unwrap(), Killed::Yes);
        }
        assert_eq!(kill_handle(&handle, soon()).unwrap(), Killed::Yes);
        assert_eq!(
            kill_handle(&handle, soon()).unwrap(),
            Killed::NotThere,
            "a zombie counts as gone"
        );
        child.wait().unwrap();
    }

    #[test]
    fn opens_the_recorded_agent_if_it_lives() {
        let own = rustix::process::getpid().as_raw_pid();
        let handle = pidfd::open(own).unwrap().unwrap();
        let identity = ProcessIdentity::new(handle.as_fd(), own).unwrap();
        let lines = ["keeper 7".to_owned(), format!("agent {}", identity.to_record())];
        assert_eq!(agent(&lines).unwrap().unwrap().0, identity);
        for line in ["", "keeper 7", "agent x inode 9 boot b namespace 5", "agent 7"] {
            assert!(agent(&[line.to_owned()]).unwrap().is_none(), "{line}");
        }
    }
}

//! Processes in `/proc`: hints for people and for handles, never proof of an end.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use kennel_pen::{HOME_COOKIE, SESSION_COOKIE};
use kennel_sys::identity::ProcessStat;
use kennel_sys::pidfd::{self, SignalDelivery};
use kennel_types::Survivor;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::Signal;

pub(crate) fn pids() -> io::Result<Vec<i32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(pids)
}

/// Returns the pids of a process's current children. A child that starts or ends during the read
/// may hide another: read twice.
pub(crate) fn children_of(parent: i32) -> io::Result<Vec<i32>> {
    let threads = match fs::read_dir(format!("/proc/{parent}/task")) {
        Err(error) if vanished(&error) => return Ok(Vec::new()),
        threads => threads?,
    };
    let mut children = Vec::new();
    for thread in threads {
        match thread.and_then(|thread| fs::read_to_string(thread.path().join("children"))) {
            // A thread has ended, or the kernel has no such lists.
            Err(error) if vanished(&error) => return scan_for_children_of(parent),
            list => children.extend(list?.split_ascii_whitespace().flat_map(str::parse::<i32>)),
        }
    }
    Ok(children)
}

fn scan_for_children_of(parent: i32) -> io::Result<Vec<i32>> {
    let all = parents()?.into_iter();
    Ok(all.filter(|(_, above)| *above == parent).map(|(pid, _)| pid).collect())
}

pub(crate) fn cookies(pid: i32) -> io::Result<Option<(String, String)>> {
    match fs::read(format!("/proc/{pid}/environ")) {
        Err(error) if vanished(&error) => Ok(None),
        environ => environ.map(|environ| parse_cookies(&environ)),
    }
}

fn parse_cookies(environ: &[u8]) -> Option<(String, String)> {
    let value = |name: &str| {
        // As for `getenv`, the first one counts.
        environ.split(|byte| *byte == 0).find_map(|variable| {
            let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            String::from_utf8(value.to_vec()).ok()
        })
    };
    Some((value(HOME_COOKIE)?, value(SESSION_COOKIE)?))
}

pub(crate) fn command(pid: i32) -> String {
    let mut words = arguments(pid);
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

/// Returns the arguments of the command line, for people.
pub(crate) fn arguments(pid: i32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

pub(crate) fn folder(pid: i32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

pub(crate) fn cgroup(pid: i32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("0::").map(ToOwned::to_owned))
}

pub(crate) fn uid(pid: i32) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}")).ok().map(|meta| meta.uid())
}

pub(crate) fn parents() -> io::Result<HashMap<i32, i32>> {
    let mut parents = HashMap::new();
    for pid in pids()? {
        parents.extend(ProcessStat::read(pid)?.map(|stat| (pid, stat.parent)));
    }
    Ok(parents)
}

pub(crate) fn descends(pid: i32, from: i32, parents: &HashMap<i32, i32>) -> bool {
    let mut at = pid;
    // The processes were not read at one moment: there may be a circle.
    for _ in 0..parents.len() {
        match parents.get(&at) {
            Some(parent) if *parent == from => return true,
            Some(parent) => at = *parent,
            None => return false,
        }
    }
    false
}

/// Returns what is known of a process that could not be ended; none if it is dead by now.
pub(crate) fn survivor(pid: i32) -> Option<Survivor> {
    let stat = ProcessStat::read(pid).ok().flatten().filter(|stat| !stat.is_dead())?;
    let own = rustix::process::geteuid();
    let why = match uid(pid) {
        Some(uid) if !own.is_root() && uid != own.as_raw() => {
            format!("not permitted: it runs as user {uid}")
        }
        _ if stat.state == 'D' => "uninterruptible: it waits in the kernel, or is frozen".into(),
        _ => "killed, but not yet gone".into(),
    };
    Some(Survivor { pid, name: stat.name, why })
}

/// Kills the process behind the handle and its descendants. All are stopped first, so that none
/// forks or loses its parent before it is found. Returns handles to the processes that were
/// reached.
pub(crate) fn kill_tree(pid: i32, handle: OwnedFd) -> io::Result<Vec<OwnedFd>> {
    let mut found = vec![(pid, handle)];
    let mut next = 0;
    while let Some((parent, handle)) = found.get(next) {
        // Processes that may not be signalled are reported elsewhere.
        let _stopped_or_not = pidfd::send(handle, Signal::STOP)?;
        let parent = *parent;
        for child in children_of(parent)? {
            let Some(below) = pidfd::open(child)? else { continue };
            // Its parent still has its pid after the check, so it was the right child.
            let is_child = pidfd::info(below.as_fd(), child)?.is_some_and(|i| i.parent == parent);
            if is_child && pidfd::exists(found[next].1.as_fd()) {
                found.push((child, below));
            }
        }
        next += 1;
    }
    let mut reached = Vec::new();
    for (_, handle) in found {
        if pidfd::send(&handle, Signal::KILL)? != SignalDelivery::Gone {
            reached.push(handle);
        }
    }
    Ok(reached)
}

fn vanished(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn both_cookies_are_required_and_the_first_counts() {
        let environ = b"A=1\0KENNEL_HOME_ID=h\0KENNEL_SESSION_ID=s\0KENNEL_SESSION_ID=t\0";
        assert_eq!(parse_cookies(environ), Some(("h".into(), "s".into())));
        assert_eq!(parse_cookies(b"KENNEL_HOME_ID=h\0"), None);
        assert_eq!(parse_cookies(b"XKENNEL_HOME_ID=h\0KENNEL_SESSION_ID=s\0"), None);
        assert_eq!(parse_cookies(b"KENNEL_HOME_IDX=h\0KENNEL_SESSION_ID=s\0"), None);
        assert_eq!(parse_cookies(b""), None);
    }

    #[test]
    fn finds_descendants_even_in_a_circle() {
        let parents = HashMap::from([(5, 4), (4, 3), (3, 1), (8, 9), (9, 8)]);
        assert!(descends(5, 3, &parents) && descends(5, 1, &parents));
        assert!(!descends(3, 5, &parents) && !descends(8, 1, &parents));
    }

    #[test]
    fn both_ways_to_list_children_agree() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let own = rustix::process::getpid().as_raw_pid();
        assert!(children_of(own).unwrap().contains(&pid));
        assert!(scan_for_children_of(own).unwrap().contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children_of(own).unwrap().contains(&pid));
    }

    #[test]
    fn kills_a_whole_tree() {
        let script = "sleep 1000 & sh -c 'sleep 1000; true' & echo started; wait";
        let mut child =
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 8];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let below = loop {
            let parents = parents().unwrap();
            let below: Vec<i32> =
                parents.keys().copied().filter(|p| descends(*p, pid, &parents)).collect();
            if below.len() == 3 || Instant::now() > deadline {
                break below;
            }
        };
        assert_eq!(below.len(), 3);
        let reached = kill_tree(pid, pidfd::open(pid).unwrap().unwrap()).unwrap();
        assert_eq!(reached.len(), 4);
        child.wait().unwrap();
        for handle in reached {
            while !pidfd::has_ended(handle.as_fd()).unwrap() {
                assert!(Instant::now() < deadline);
            }
        }
    }
}

//! Checks of the machine: kernel, cgroups, limits, terminals.

use std::fs;

use kennel_pen::{HomeId, HostSupport, PenLimitError, Size, cgroup_mount};
use kennel_sys::{pidfd, terminal};
use rustix::process::{Resource, Rlimit, getrlimit};

use super::Finding;
use super::FindingState::{Bad, Fair, Good};
use crate::command_prelude::*;

/// The first kernel with `cgroup.kill`; everything else that Kennel needs is older.
const OLDEST_KERNEL: (u32, u32) = (5, 14);
/// A lower limit on descriptors causes failures.
const MIN_DESCRIPTORS: u64 = 256;
/// An agent's tree has dozens of processes.
const MIN_PROCESSES: u64 = 512;

pub(crate) fn findings(home: Option<&HomeDir>) -> Vec<Finding> {
    // With the home's id, its daemon can clean up after a check that was killed.
    let home = home.map_or_else(HomeId::random, |home| Ok(home.id.clone()));
    let host = home.map(|home| HostSupport::survey(&home));
    vec![
        kernel(),
        status_for_others(),
        child_lists(),
        host.as_ref().map_or_else(|_| no_random("cgroup"), cgroup),
        host.as_ref().map_or_else(|_| no_random("limits"), limits),
        descriptors(),
        processes(),
        terminals(),
    ]
}

fn kernel() -> Finding {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= OLDEST_KERNEL {
        Finding::new("kernel", Good, format!("Linux {release}"))
    } else {
        let (major, minor) = OLDEST_KERNEL;
        Finding::new(
            "kernel",
            Bad,
            format!("Linux {release}; Kennel needs {major}.{minor} or newer"),
        )
    }
}

fn status_for_others() -> Finding {
    if pidfd::has_info() {
        Finding::new("pidfd", Good, "pidfds report a process's parent and exit status")
    } else {
        Finding::new(
            "pidfd",
            Fair,
            "pidfds don't report exit statuses to other processes (needs Linux 6.15)",
        )
    }
}

fn child_lists() -> Finding {
    let thread = rustix::thread::gettid().as_raw_pid();
    if fs::metadata(format!("/proc/self/task/{thread}/children")).is_ok() {
        Finding::new("children", Good, "the kernel lists the children of a process")
    } else {
        let text = "the kernel can't list children (CONFIG_PROC_CHILDREN): Kennel scans all processes instead";
        Finding::new("children", Fair, text)
    }
}

fn no_random(name: &'static str) -> Finding {
    Finding::new(name, Bad, "can't get random bytes from the kernel")
}

fn cgroup(host: &HostSupport) -> Finding {
    match (cgroup_mount(), host.cgroup()) {
        (None, _) => Finding::new("cgroup", Fair, "no cgroup v2 file system is mounted"),
        (Some(mount), Ok(base)) => {
            let text = format!(
                "v2 at {}; pens can be created in {}",
                mount.display(),
                base.path().display()
            );
            Finding::new("cgroup", Good, text)
        }
        (Some(mount), Err(why)) => {
            Finding::new("cgroup", Fair, format!("v2 at {}, but {why}", mount.display()))
        }
    }
}

fn limits(host: &HostSupport) -> Finding {
    // Controllers that are unavailable for the same reason share a line.
    let mut missing: Vec<(Vec<&str>, String)> = Vec::new();
    for offer in host.limits() {
        let name = offer.controller.name();
        let Some(why) = offer.why_not.map(short) else { continue };
        match missing.iter_mut().find(|(_, other)| *other == why) {
            Some((names, _)) => names.push(name),
            None => missing.push((vec![name], why)),
        }
    }
    if missing.is_empty() {
        let text = "memory, processes and CPU can be limited (--memory, --pids, --cpu)";
        return Finding::new("limits", Good, text);
    }
    let text =
        missing.iter().map(|(names, why)| format!("can't limit {}: {why}", names.join(", ")));
    Finding::new("limits", Fair, text.collect::<Vec<_>>().join("; "))
}

/// Formats the reason without the name of the controller.
fn short(error: PenLimitError) -> String {
    match error {
        PenLimitError::NoController { why, .. } => why.to_string(),
        PenLimitError::NoCgroup { .. } => "needs a cgroup pen".into(),
        other => other.to_string(),
    }
}

fn limit(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".into(), |limit| limit.to_string())
}

fn descriptors() -> Finding {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let enough = maximum.is_none_or(|max| max >= MIN_DESCRIPTORS);
    let text = format!("{} open files per process, hard limit {}", limit(current), limit(maximum));
    Finding::new("descriptors", if enough { Good } else { Bad }, text)
}

fn processes() -> Finding {
    let most =
        fs::read_to_string("/proc/sys/kernel/pid_max").ok().and_then(|n| n.trim().parse().ok());
    let user = getrlimit(Resource::Nproc).current;
    let lowest = [most, user].into_iter().flatten().min();
    let enough = lowest.is_none_or(|lowest: u64| lowest >= MIN_PROCESSES);
    let text = format!("{} per user, {} on this machine", limit(user), limit(most));
    Finding::new("processes", if enough { Good } else { Fair }, text)
}

fn terminals() -> Finding {
    let number = |name| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/pty/{name}")).unwrap_or_default();
        text.trim().to_owned()
    };
    match terminal::open(Size::default()) {
        Ok(_) => {
            let text =
                format!("pseudo-terminals work; {} of {} in use", number("nr"), number("max"));
            Finding::new("terminals", Good, text)
        }
        Err(error) => {
            Finding::new("terminals", Bad, format!("can't open a pseudo-terminal: {error}"))
        }
    }
}

//! Removes what a failed worker leaves behind: its processes become children of this program, which
//! is a subreaper, and its cgroups contain the home id of this run.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kennel_pen::{HomeId, HostSupport, PenName};
use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

use crate::machine;

/// The prefix of the raw floor's cgroups; the pid of the worker follows.
pub(crate) const FLOOR_PREFIX: &str = "kennelbench-floor-";

/// The time limit.
const LONG: Duration = Duration::from_secs(30);

/// Returns the cgroups of this home's pens.
pub(crate) fn pens_of(home: &HomeId) -> Result<Vec<PathBuf>> {
    folders(|name| PenName::parse(name).is_some_and(|pen| pen.home == *home))
}

/// Returns the cgroups of floors whose worker has ended.
fn floors() -> Result<Vec<PathBuf>> {
    folders(|name| {
        let pid = name.strip_prefix(FLOOR_PREFIX);
        pid.is_some_and(|pid| !PathBuf::from(format!("/proc/{pid}")).exists())
    })
}

fn folders(wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let support = HostSupport::look();
    let Ok(base) = support.cgroup() else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(base.path())? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&wanted) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Ends every child and removes every cgroup of this run, after all workers have ended; returns
/// how many there were.
pub(crate) fn sweep(home: &HomeId) -> Result<usize> {
    let deadline = Instant::now() + LONG;
    let mut swept = 0;
    loop {
        let folders = [pens_of(home)?, floors()?].concat();
        let children = machine::children()?;
        if folders.is_empty() && children.is_empty() {
            return Ok(swept);
        }
        ensure!(Instant::now() < deadline, "left behind: {folders:?} {children:?}");
        for folder in folders {
            fs::write(folder.join("cgroup.kill"), "1").ok();
            swept += usize::from(fs::remove_dir(folder).is_ok());
        }
        for child in children {
            // The pid of a child that is not reaped can't belong to another process.
            kill_process(child, Signal::KILL).ok();
            swept += usize::from(waitpid(Some(child), WaitOptions::empty()).is_ok());
        }
    }
}

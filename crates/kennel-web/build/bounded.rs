//! Runs a program with a time limit; no process that it starts outlives it.

use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper,
    waitpid,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum BoundedError {
    #[error("can't run it")]
    Start(#[source] io::Error),
    #[error("it failed ({0})")]
    Failed(ExitStatus),
    #[error("it took longer than {} s", .0.as_secs())]
    TooLong(Duration),
}

/// Runs a program to its end, then ends all descendants of this process. So this process must have no other children.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<(), BoundedError> {
    // Orphans become children of this process, so that they can be found.
    set_child_subreaper(Some(getpid())).map_err(|error| BoundedError::Start(error.into()))?;
    let mut child = command.spawn().map_err(BoundedError::Start)?;
    let in_time = has_ended(&child, limit);
    if !matches!(in_time, Ok(true)) {
        // It may have ended in the meantime.
        child.kill().ok();
    }
    let status = child.wait().map_err(BoundedError::Start);
    let ended = end_descendants().map_err(BoundedError::Start);
    match (in_time.map_err(BoundedError::Start)?, status?) {
        (false, _) => Err(BoundedError::TooLong(limit)),
        (true, status) if status.success() => ended,
        (true, status) => Err(BoundedError::Failed(status)),
    }
}

fn has_ended(child: &Child, limit: Duration) -> io::Result<bool> {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.try_into().map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends all children, then the orphans that thereby become children, and so on. Only this process reaps them, so that no
/// pid is reused in the meantime.
fn end_descendants() -> io::Result<()> {
    loop {
        let children = children()?;
        if children.is_empty() {
            return Ok(());
        }
        for child in &children {
            kill_process(*child, Signal::KILL).ok();
        }
        for child in children {
            waitpid(Some(child), WaitOptions::empty())?;
        }
    }
}

fn children() -> io::Result<Vec<Pid>> {
    let mut all = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        let listed = match fs::read_to_string(task?.path().join("children")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            listed => listed?,
        };
        let numbers = listed.split_whitespace().filter_map(|number| number.parse().ok());
        all.extend(numbers.filter_map(Pid::from_raw));
    }
    Ok(all)
}

//! What every process of every behaviour does: record itself, print `ready` when all are up, and
//! end after a time limit.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::process;
use std::thread;
use std::time::Duration;

use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::output;

/// Names the file to which each process appends `PID ROLE`.
pub(crate) const PIDS_VARIABLE: &str = "FAKE_AGENT_PIDS";

/// Nothing lives longer: a test that fails to end its tree leaks it for minutes, not for days.
pub(crate) const MAX_LIFETIME: Duration = Duration::from_secs(300);

/// What the agent does when its tree is up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    /// Sleeps, for [`MAX_LIFETIME`] at most.
    Rest,
    /// Ends with this code and leaves its descendants behind.
    Exit(u8),
}

impl Then {
    /// Prints `ready` and continues.
    pub(crate) fn go(self) -> Outcome {
        ready();
        match self {
            Then::Rest => rest(),
            Then::Exit(code) => Ok(code),
        }
    }
}

/// Records this process in the file that the environment names, if any.
pub(crate) fn record_pid(role: &str) -> Result<(), Failure> {
    match std::env::var_os(PIDS_VARIABLE) {
        Some(path) => record_pid_in(&path, role),
        None => Ok(()),
    }
}

/// Records this process in the file at `path`, for processes without an environment. Does nothing
/// if the path is empty.
pub(crate) fn record_pid_in(path: &OsStr, role: &str) -> Result<(), Failure> {
    if path.is_empty() {
        return Ok(());
    }
    append(path, &format!("{} {role}\n", process::id()))
        .or_fail(failure::SYSTEM, format_args!("writing my pid to {path:?}"))
}

/// Appends a line in a single write, so that the lines of many processes do not mix.
pub(crate) fn append(path: &OsStr, line: &str) -> io::Result<()> {
    open_to_append(path)?.write_all(line.as_bytes())
}

/// Opens without `O_CREAT` first: with it the kernel refuses to let root (which a set-uid copy of
/// this program is) open a file of another user in `/tmp` (`fs.protected_regular`).
fn open_to_append(path: &OsStr) -> io::Result<File> {
    match OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new().append(true).create(true).open(path)
        }
        result => result,
    }
}

/// Prints that every process of this behaviour is up.
///
/// If the test has closed its end of the pipe, the behaviour continues anyway.
pub(crate) fn ready() {
    output::print(b"ready\n").ok();
}

/// Sleeps until the time limit, then ends.
pub(crate) fn rest() -> ! {
    thread::sleep(MAX_LIFETIME);
    process::exit(0)
}

/// Ends the process when [`MAX_LIFETIME`] is over although it hangs in a read or a write.
///
/// It uses a thread, so this is only for behaviours that do not fork.
pub(crate) fn limit_life() -> Result<(), Failure> {
    let watch = thread::Builder::new().spawn(|| {
        thread::sleep(MAX_LIFETIME);
        process::exit(i32::from(failure::TIME))
    });
    watch.or_fail(failure::SYSTEM, "starting a thread")?;
    Ok(())
}

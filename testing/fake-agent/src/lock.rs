//! An agent that must be alone: whether two of them ever ran at a time shows in its log.

use std::fs::OpenOptions;
use std::path::Path;
use std::process;
use std::thread;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence;

/// `lock PATH LOG [SECS]`
///
/// The lock ends with the process, however that ends; a `start` without an `end` in the log is of one
/// that was killed.
pub(crate) fn lock(mut args: Args) -> Outcome {
    let path = args.path("PATH")?;
    let log = args.path("LOG")?;
    let time = args.seconds_or_longest("SECS")?;
    args.finish()?;
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .or_fail(failure::SYSTEM, format_args!("opening {path:?}"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            note(&log, "COLLISION")?;
            return Ok(failure::COLLISION);
        }
        Err(error) => {
            let doing = format!("locking {path:?}");
            return Err(Failure::new(failure::SYSTEM, doing, error));
        }
    }
    note(&log, "start")?;
    presence::enrol("agent")?;
    presence::ready();
    thread::sleep(time);
    note(&log, "end")?;
    drop(file);
    Ok(0)
}

/// Appends `EVENT PID` to the log.
fn note(log: &Path, event: &str) -> Result<(), Failure> {
    let line = format!("{event} {}\n", process::id());
    presence::append(log.as_os_str(), &line)
        .or_fail(failure::SYSTEM, format_args!("writing to {log:?}"))
}

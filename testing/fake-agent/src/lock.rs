//! An agent of which only one may run: its log shows if two ever ran at the same time.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::output;
use crate::presence;
use crate::spawn::{self, Up};

/// How many lines `work` prints at once, before it prints one after the other.
const FIRST_LINES: u32 = 10;

/// The pause between two lines of `work`.
const BETWEEN_LINES: Duration = Duration::from_millis(3);

/// `lock PATH LOG [SECS]`
///
/// The kernel releases the lock when the process ends. A `start` without an `end` in the log means
/// that the process was killed.
pub(crate) fn lock(mut args: Args) -> Outcome {
    let path = args.path("PATH")?;
    let log = args.path("LOG")?;
    let time = args.seconds_or_max("SECS")?;
    args.finish()?;
    let Some(alone) = Alone::with(&path, log)? else { return Ok(failure::COLLISION) };
    presence::ready();
    thread::sleep(time);
    alone.end()?;
    Ok(0)
}

/// `work PATH LOG [CODE]`: an agent that detects what a supervisor loses. It holds a lock, starts a
/// daemon without an environment, and numbers its lines.
///
/// With CODE it ends by itself after some lines, and leaves its daemon behind.
pub(crate) fn work(mut args: Args) -> Outcome {
    let path = args.path("PATH")?;
    let log = args.path("LOG")?;
    let code: Option<u8> = match args.optional() {
        Some(text) => Some(args.parse("CODE", &text)?),
        None => None,
    };
    args.finish()?;
    let Some(alone) = Alone::with(&path, log)? else { return Ok(failure::COLLISION) };
    let mut up = Up::new()?;
    spawn::daemon(&mut up, |up| spawn::linger_without_environment(up, "daemon", None))?;
    up.wait_for(1)?;
    presence::ready();
    match code {
        None => print_lines(u32::MAX),
        Some(code) => {
            print_lines(FIRST_LINES)?;
            alone.end()?;
            Ok(code)
        }
    }
}

/// The variable with the launch of a process that Kennel started.
pub(crate) const LAUNCH_VARIABLE: &str = "KENNEL_SESSION";

/// `alone PATH LOG BEHAVIOUR [ARGS..]`: any behaviour, while holding a lock.
///
/// The log has `start PID LAUNCH` and, if it ends by itself, `end PID CODE`. Every descendant holds
/// the lock too, even after an exec. So a launch that starts before the last process of the
/// previous one has ended is a collision, and a test finds all processes by the lock file that they
/// have open.
pub(crate) fn alone(mut args: Args) -> Outcome {
    let path = args.path("PATH")?;
    let log = args.path("LOG")?;
    let behaviour = args.remaining();
    args.finish()?;
    let launch = std::env::var(LAUNCH_VARIABLE).unwrap_or_else(|_| "-".to_owned());
    let Some(lock) = take(&path)? else {
        note_more(&log, "COLLISION", &launch)?;
        return Ok(failure::COLLISION);
    };
    fcntl_setfd(&lock, FdFlags::empty()).or_fail(failure::SYSTEM, "handing the lock on")?;
    note_more(&log, "start", &launch)?;
    let code = match crate::run(behaviour) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    };
    note_more(&log, "end", &code.to_string())?;
    Ok(code)
}

/// Prints `line N`, for [`presence::MAX_LIFETIME`] at most.
fn print_lines(count: u32) -> Outcome {
    let longest = presence::MAX_LIFETIME.as_millis() / BETWEEN_LINES.as_millis();
    let count = count.min(u32::try_from(longest).unwrap_or(u32::MAX));
    for number in 0..count {
        output::print(format!("line {number}\n").as_bytes())?;
        if number >= FIRST_LINES {
            thread::sleep(BETWEEN_LINES);
        }
    }
    Ok(0)
}

/// The held lock.
struct Alone {
    log: PathBuf,
    _lock: File,
}

impl Alone {
    /// Takes the lock. If another process holds it, logs a collision and returns `None`.
    fn with(path: &Path, log: PathBuf) -> Result<Option<Self>, Failure> {
        let Some(file) = take(path)? else {
            note(&log, "COLLISION")?;
            return Ok(None);
        };
        note(&log, "start")?;
        presence::record_pid("agent")?;
        Ok(Some(Self { log, _lock: file }))
    }

    /// Logs that the process ends by itself, and releases the lock.
    fn end(self) -> Result<(), Failure> {
        note(&self.log, "end")
    }
}

/// Takes a lock; `None` if another process holds it.
pub(crate) fn take(path: &Path) -> Result<Option<File>, Failure> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .or_fail(failure::SYSTEM, format_args!("opening {path:?}"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => {
            let doing = format!("locking {path:?}");
            Err(Failure::new(failure::SYSTEM, doing, error))
        }
    }
}

/// Appends `EVENT PID MORE` to the log.
pub(crate) fn note_more(log: &Path, event: &str, more: &str) -> Result<(), Failure> {
    append_line(log, &format!("{event} {} {more}\n", process::id()))
}

/// Appends `EVENT PID` to the log.
fn note(log: &Path, event: &str) -> Result<(), Failure> {
    append_line(log, &format!("{event} {}\n", process::id()))
}

fn append_line(log: &Path, line: &str) -> Result<(), Failure> {
    presence::append(log.as_os_str(), line)
        .or_fail(failure::SYSTEM, format_args!("writing to {log:?}"))
}

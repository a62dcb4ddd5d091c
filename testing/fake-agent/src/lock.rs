//! An agent that must be alone: whether two of them ever ran at a time shows in its log.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

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
/// The lock ends with the process, however that ends; a `start` without an `end` in the log is of one
/// that was killed.
pub(crate) fn lock(mut args: Args) -> Outcome {
    let path = args.path("PATH")?;
    let log = args.path("LOG")?;
    let time = args.seconds_or_longest("SECS")?;
    args.finish()?;
    let Some(alone) = Alone::with(&path, log)? else { return Ok(failure::COLLISION) };
    presence::ready();
    thread::sleep(time);
    alone.end()?;
    Ok(0)
}

/// `work PATH LOG [CODE]`: everything by which a supervisor that loses something gives itself away. It is
/// alone, has a daemon without environment below it, and numbers its lines.
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

/// Prints `line N`, for [`presence::LONGEST`] at most.
fn print_lines(count: u32) -> Outcome {
    let longest = presence::LONGEST.as_millis() / BETWEEN_LINES.as_millis();
    let count = count.min(u32::try_from(longest).unwrap_or(u32::MAX));
    for number in 0..count {
        output::print(format!("line {number}\n").as_bytes())?;
        if number >= FIRST_LINES {
            thread::sleep(BETWEEN_LINES);
        }
    }
    Ok(0)
}

/// The only one that has the lock.
struct Alone {
    log: PathBuf,
    _lock: File,
}

impl Alone {
    /// Takes the lock; none, and a note of that, if another has it.
    fn with(path: &Path, log: PathBuf) -> Result<Option<Self>, Failure> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .or_fail(failure::SYSTEM, format_args!("opening {path:?}"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                note(&log, "COLLISION")?;
                return Ok(None);
            }
            Err(error) => {
                let doing = format!("locking {path:?}");
                return Err(Failure::new(failure::SYSTEM, doing, error));
            }
        }
        note(&log, "start")?;
        presence::enrol("agent")?;
        Ok(Some(Self { log, _lock: file }))
    }

    /// Notes that it ends by itself, and lets go.
    fn end(self) -> Result<(), Failure> {
        note(&self.log, "end")
    }
}

/// Appends `EVENT PID` to the log.
fn note(log: &Path, event: &str) -> Result<(), Failure> {
    let line = format!("{event} {}\n", process::id());
    presence::append(log.as_os_str(), &line)
        .or_fail(failure::SYSTEM, format_args!("writing to {log:?}"))
}

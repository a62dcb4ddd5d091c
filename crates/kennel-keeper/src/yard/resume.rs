//! A yard becomes a newer program without ceasing to be the parent of its children: by exec.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::FdFlags;

use super::yard_store::YardStore;

/// The variable by which the former program tells the newer one what it has.
pub const RESUME_VARIABLE: &str = "KENNEL_YARD_RESUMES";

/// The variable with what it keeps for the next daemon.
pub const KEPT_VARIABLE: &str = "KENNEL_YARD_KEPT";

/// What a former program of this process left.
#[derive(Debug)]
pub struct YardResume {
    pub(super) lock: OwnedFd,
    pub(super) home_lock: OwnedFd,
    pub(super) listener: OwnedFd,
    pub(super) keepers: Vec<i32>,
    pub(super) kept: YardStore,
}

impl YardResume {
    /// What the value of [`RESUME_VARIABLE`] says. Only for the process that was told so by its former
    /// program; the descriptors become its own.
    ///
    /// # Errors
    /// The text is not what a former program writes, or the descriptors are not there.
    pub fn parse(text: &str) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "no state of a former yard");
        let mut numbers = text.split(' ').map(|number| number.parse::<i32>().map_err(|_| wrong()));
        let pid = numbers.next().ok_or_else(wrong)??;
        if pid != rustix::process::getpid().as_raw_pid() {
            return Err(wrong()); // inherited by somebody else
        }
        let mut descriptor = || -> io::Result<OwnedFd> {
            let number = numbers.next().ok_or_else(wrong)??;
            kennel_sys::descriptor::adopt(number)
        };
        let (lock, home_lock, listener) = (descriptor()?, descriptor()?, descriptor()?);
        let keepers = numbers.collect::<Result<_, _>>()?;
        Ok(Self { lock, home_lock, listener, keepers, kept: YardStore::default() })
    }

    /// With what the value of [`KEPT_VARIABLE`] says.
    ///
    /// # Errors
    /// As before.
    pub fn keeping(self, text: &str) -> io::Result<Self> {
        Ok(Self { kept: YardStore::parse(text)?, ..self })
    }
}

/// Becomes this program; comes back only if that fails.
pub(super) fn become_program(
    program: &Path,
    home: &Path,
    descriptors: [&OwnedFd; 3],
    keepers: impl Iterator<Item = i32>,
    kept: &YardStore,
) -> io::Error {
    let keep = |fd: &OwnedFd| rustix::io::fcntl_setfd(fd, FdFlags::empty());
    let close = |fd: &OwnedFd| rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC);
    let mut state = rustix::process::getpid().as_raw_pid().to_string();
    for fd in descriptors {
        if let Err(error) = keep(fd) {
            return error.into();
        }
        state.push_str(&format!(" {}", fd.as_raw_fd()));
    }
    for keeper in keepers {
        state.push_str(&format!(" {keeper}"));
    }
    let kept_text = match kept.hand_on() {
        Ok(text) => text,
        Err(error) => return error,
    };
    let argument: OsString = home.into();
    let mut command = Command::new(program);
    command.arg0("kennel-yard").arg(argument).env(RESUME_VARIABLE, state);
    let error = command.env(KEPT_VARIABLE, kept_text).exec();
    // Still the old program: nothing may leak into what it starts.
    if let Err(error) = kept.take_back() {
        return error;
    }
    for fd in descriptors {
        if let Err(error) = close(fd) {
            return error.into();
        }
    }
    error
}

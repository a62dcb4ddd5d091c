//! Replacing the yard's program by exec, so that the process stays the parent of its children.

use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use kennel_sys::process::adopt_descriptor;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::FdFlags;

use super::yard_store::YardStore;

/// The variable with the yard's state for the new program.
pub const RESUME_VARIABLE: &str = "KENNEL_YARD_RESUMES";
/// The variable with the descriptors that are stored for the next daemon.
pub const KEPT_VARIABLE: &str = "KENNEL_YARD_KEPT";

/// The state that the previous program of this process left.
#[derive(Debug)]
pub struct YardResume {
    pub(super) lock: OwnedFd,
    pub(super) home_lock: OwnedFd,
    pub(super) listener: OwnedFd,
    pub(super) keepers: Vec<i32>,
    pub(super) store: YardStore,
}

impl YardResume {
    /// Parses the value of [`RESUME_VARIABLE`], and takes over the descriptors in it.
    pub fn parse(text: &str) -> io::Result<Self> {
        let wrong =
            || io::Error::new(io::ErrorKind::InvalidInput, "invalid state of a former yard");
        let mut numbers = text.split(' ').map(|number| number.parse::<i32>().map_err(|_| wrong()));
        let pid = numbers.next().ok_or_else(wrong)??;
        if pid != rustix::process::getpid().as_raw_pid() {
            return Err(wrong()); // inherited from another process
        }
        let mut descriptor = || adopt_descriptor(numbers.next().ok_or_else(wrong)??);
        let (lock, home_lock, listener) = (descriptor()?, descriptor()?, descriptor()?);
        let keepers = numbers.collect::<Result<_, _>>()?;
        Ok(Self { lock, home_lock, listener, keepers, store: YardStore::default() })
    }

    /// Adds the value of [`KEPT_VARIABLE`].
    pub fn keeping(self, text: &str) -> io::Result<Self> {
        Ok(Self { store: YardStore::parse(text)?, ..self })
    }
}

/// Becomes this program. Returns only if that fails.
pub(super) fn become_program(
    program: &Path,
    home: &Path,
    descriptors: [&OwnedFd; 3],
    keepers: impl Iterator<Item = i32>,
    store: &YardStore,
) -> io::Result<Infallible> {
    let mut state = rustix::process::getpid().as_raw_pid().to_string();
    for fd in descriptors {
        rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
        state.push_str(&format!(" {}", fd.as_raw_fd()));
    }
    for keeper in keepers {
        state.push_str(&format!(" {keeper}"));
    }
    let mut command = Command::new(program);
    command.arg0("kennel-yard").arg(home).env(RESUME_VARIABLE, state);
    let error = command.env(KEPT_VARIABLE, store.hand_on()?).exec();
    // Still the old program: nothing may leak into the processes that it starts.
    store.take_back()?;
    for fd in descriptors {
        rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC)?;
    }
    Err(error)
}

//! Waits for file descriptors.

use std::io;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::AsFd;
use rustix::io::Errno;

/// Waits until one is ready, or until a time. Returns early on a signal: callers check again.
pub(crate) fn poll(fds: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<()> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    // A time that is too long for the kernel is no limit.
    let limit = left.and_then(|left| Timespec::try_from(left).ok());
    match rustix::event::poll(fds, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits until this one is readable, or until a time. Returns early on a signal.
pub(crate) fn readable(fd: impl AsFd, until: Option<Instant>) -> io::Result<()> {
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], until)
}

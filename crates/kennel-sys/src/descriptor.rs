//! Descriptors that a former program of this process left open.

use std::io;

use rustix::fd::{FromRawFd, OwnedFd};

/// Takes over an open descriptor by its number; it is close-on-exec from now on. Only for one that nobody
/// else in this process owns: call it once for each, before anything else is opened.
///
/// # Errors
/// There is none with this number.
pub fn adopt(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes a number and flags by value.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, as the call before has shown, and by this function's contract nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

//! A plain `fork` for programs with one thread.
//!
//! A fork of a program with several threads leaves locks of vanished threads held in the child, so
//! this one refuses. The launch path doesn't use it (see [`crate::clone`]): it copies page tables,
//! which costs milliseconds from a large caller.

use std::io;

/// Which side of the fork the caller is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Forked {
    /// The new process.
    Child,
    /// The caller; the number is its child's pid, valid until the child is reaped.
    Parent(i32),
}

/// Ends this process at once: no destructor runs, nothing is flushed. For a fork that has done its work: what it
/// has of its parent's is not its own to tear down, and page after page would be copied to do so.
pub fn leave_at_once(code: u8) -> ! {
    // SAFETY: it takes a number, and does not come back.
    unsafe { libc::_exit(code.into()) }
}

/// Forks a process that has a single thread.
///
/// # Errors
/// `EDEADLK` if the process has more than one thread, else what the kernel said.
pub fn fork_alone() -> io::Result<Forked> {
    // The link count of a task folder is two plus the number of threads.
    let links = rustix::fs::stat("/proc/self/task")?.st_nlink;
    if links > 3 {
        return Err(io::Error::from_raw_os_error(libc::EDEADLK));
    }
    // SAFETY: the only thread is this one, so the child has every lock that its memory says is
    // held, and may go on to run any code at all.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

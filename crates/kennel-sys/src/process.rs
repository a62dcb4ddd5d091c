//! What a process does to itself: fork, exit, give memory back, adopt descriptors.

use std::io;

use rustix::fd::{FromRawFd, OwnedFd};

/// The side of a fork that the caller is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Forked {
    /// The new process.
    Child,
    /// The caller, with the pid of its child.
    Parent(i32),
}

/// Forks a process that has a single thread. A fork of several threads would leave the locks of
/// vanished threads held in the child. The launch path uses [`crate::clone`] instead: a fork copies
/// page tables, which takes milliseconds in a large process.
///
/// # Errors
/// `EDEADLK` if the process has more than one thread, otherwise the kernel's error.
pub fn fork_alone() -> io::Result<Forked> {
    // The link count of this folder is two plus the number of threads.
    let links = rustix::fs::stat("/proc/self/task")?.st_nlink;
    if links > 3 {
        return Err(io::Error::from_raw_os_error(libc::EDEADLK));
    }
    // SAFETY: there is no other thread, so the child owns every held lock, and may run any code.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// Exits at once: no destructor runs, nothing is flushed. For a fork that has done its work: what
/// it inherited is not its own to clean up, and cleaning up would copy page after page.
pub fn exit_at_once(code: u8) -> ! {
    // SAFETY: it takes a number, and does not return.
    unsafe { libc::_exit(code.into()) }
}

/// Ends the calling thread and leaves the others running, without drops or exit handlers. For
/// tests: a process whose first thread has ended looks like a zombie, but is not dead.
pub fn end_this_thread_only() -> ! {
    // SAFETY: no Rust code runs in the thread afterwards. No thread joins it and frees its stack.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("exit does not return")
}

/// Makes the allocator keep fewer lists of small freed blocks, for a process that forks: merging
/// these lists in a fork would copy page after page. Has an effect with glibc only.
pub fn prepare_to_fork() {
    // SAFETY: it sets a number in the allocator, which is allowed at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MXFAST, 0);
    }
}

/// Returns freed memory from the allocator to the kernel, for a process that is about to wait for
/// long. Has an effect with glibc only.
pub fn give_back_memory() {
    // SAFETY: it only touches memory that the allocator knows to be free.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Takes over a descriptor that the previous program of this process left open; sets close-on-exec.
/// Call this once for each, before any other is opened: the descriptor must have no other owner.
pub fn adopt_descriptor(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: it takes a number and flags by value.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, as the call has shown. The caller guarantees that it has no owner.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

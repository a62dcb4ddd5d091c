//! Collecting the status of children, and being the process to which orphans fall.

use std::io;

use rustix::fd::{AsRawFd, BorrowedFd};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum WaitStatus {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal {
        /// Its number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
    },
}

/// What a look at one's children found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Reaped {
    /// This child had ended and was collected; its number may now be another's.
    One(i32, WaitStatus),
    /// There are children, none has ended.
    NoneReady,
    /// There are no children at all: the only proof that a subtree is gone.
    NoChildren,
}

/// Makes this process the one to which its orphaned descendants fall, in place of init.
///
/// # Errors
/// What `prctl` said.
pub fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Collects any one child that has ended; never blocks.
///
/// # Errors
/// What `waitid` said, other than that there are no children.
pub fn reap_any() -> io::Result<Reaped> {
    match wait(libc::P_ALL, 0) {
        Ok(Some((pid, ended))) => Ok(Reaped::One(pid, ended)),
        Ok(None) => Ok(Reaped::NoneReady),
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(Reaped::NoChildren),
        Err(error) => Err(error),
    }
}

/// Collects the child behind `pidfd` if it has ended; never blocks.
///
/// # Errors
/// `ECHILD` if it is no child of this process, or no longer.
pub fn reap(pidfd: BorrowedFd<'_>) -> io::Result<Option<WaitStatus>> {
    #[expect(clippy::cast_sign_loss, reason = "an open descriptor is not negative")]
    let id = pidfd.as_raw_fd() as libc::id_t;
    Ok(wait(libc::P_PIDFD, id)?.map(|(_, ended)| ended))
}

fn wait(kind: libc::idtype_t, id: libc::id_t) -> io::Result<Option<(i32, WaitStatus)>> {
    // SAFETY: all-zero is a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is valid for writes; with WNOHANG the call returns at once.
    let done = unsafe {
        libc::waitid(kind, id, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::__WALL)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: waitid filled in the SIGCHLD fields, or left them zero when nothing was ready.
    let pid = unsafe { info.si_pid() };
    // SAFETY: as above.
    let status = unsafe { info.si_status() };
    if pid == 0 {
        return Ok(None);
    }
    let ended = match info.si_code {
        libc::CLD_EXITED => WaitStatus::Code(status),
        code => WaitStatus::Signal { signal: status, core: code == libc::CLD_DUMPED },
    };
    Ok(Some((pid, ended)))
}

/// A child that somebody has stopped since the last time; it stays a child.
///
/// # Errors
/// What `waitid` said, other than that there are no children.
pub fn stopped_child() -> io::Result<Option<i32>> {
    // SAFETY: all-zero is a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is valid for writes; with WNOHANG the call returns at once.
    let done = unsafe {
        libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WSTOPPED | libc::WNOHANG | libc::__WALL)
    };
    match io::Error::last_os_error() {
        _ if done == 0 => {}
        none if none.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
        error => return Err(error),
    }
    // SAFETY: waitid filled in the SIGCHLD fields, or left them zero when nothing was ready.
    let pid = unsafe { info.si_pid() };
    Ok((pid != 0).then_some(pid))
}

/// The CPU time of all children that were reaped, with what *they* had reaped.
#[must_use]
pub fn reaped_cpu() -> std::time::Duration {
    let usage = reaped_usage();
    let time = |time: libc::timeval| {
        std::time::Duration::from_secs(time.tv_sec.unsigned_abs())
            + std::time::Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// The page faults of all children that were reaped, with what *they* had reaped: grows with each.
#[must_use]
pub fn reaped_faults() -> u64 {
    let usage = reaped_usage();
    usage.ru_minflt.unsigned_abs() + usage.ru_majflt.unsigned_abs()
}

fn reaped_usage() -> libc::rusage {
    // SAFETY: all-zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writes; the call can't fail with these arguments.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    usage
}

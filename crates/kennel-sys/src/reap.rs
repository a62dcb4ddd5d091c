//! Reaping children, and becoming the subreaper of orphaned descendants.

use std::io;
use std::time::Duration;

use rustix::fd::{AsRawFd, BorrowedFd};

/// The exit status of a process.
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

/// The result of reaping one child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Reaped {
    /// This child had exited and was reaped. Its pid may now be reused.
    One(i32, WaitStatus),
    /// There are children, but none has exited.
    NoneReady,
    /// There are no children at all: the only proof that a subtree is gone.
    NoChildren,
}

/// Makes this process the parent of its orphaned descendants, instead of init.
pub fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Reaps any one child that has exited, without waiting.
pub fn reap_any() -> io::Result<Reaped> {
    match wait(libc::P_ALL, 0, libc::WEXITED) {
        Ok(Some((pid, info))) => Ok(Reaped::One(pid, status_of(&info))),
        Ok(None) => Ok(Reaped::NoneReady),
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(Reaped::NoChildren),
        Err(error) => Err(error),
    }
}

/// Reaps the child of this pidfd if it has exited, without waiting.
///
/// # Errors
/// `ECHILD` if it is not, or no longer, a child of this process.
pub fn reap(pidfd: BorrowedFd<'_>) -> io::Result<Option<WaitStatus>> {
    #[expect(clippy::cast_sign_loss, reason = "an open descriptor is not negative")]
    let id = pidfd.as_raw_fd() as libc::id_t;
    Ok(wait(libc::P_PIDFD, id, libc::WEXITED)?.map(|(_, info)| status_of(&info)))
}

/// Returns a child that was stopped since the last call, if any.
pub fn stopped_child() -> io::Result<Option<i32>> {
    match wait(libc::P_ALL, 0, libc::WSTOPPED) {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        stopped => Ok(stopped?.map(|(pid, _)| pid)),
    }
}

fn wait(
    kind: libc::idtype_t,
    id: libc::id_t,
    events: i32,
) -> io::Result<Option<(i32, libc::siginfo_t)>> {
    // SAFETY: all-zero is a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = events | libc::WNOHANG | libc::__WALL;
    // SAFETY: `info` is valid for writes; with WNOHANG the call returns at once.
    if unsafe { libc::waitid(kind, id, &raw mut info, options) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: waitid set the SIGCHLD fields, or left them zero if no child was ready.
    let pid = unsafe { info.si_pid() };
    Ok((pid != 0).then_some((pid, info)))
}

fn status_of(info: &libc::siginfo_t) -> WaitStatus {
    // SAFETY: waitid set the SIGCHLD fields.
    let status = unsafe { info.si_status() };
    match info.si_code {
        libc::CLD_EXITED => WaitStatus::Code(status),
        code => WaitStatus::Signal { signal: status, core: code == libc::CLD_DUMPED },
    }
}

/// Returns the CPU time of all reaped children and their reaped children.
pub fn reaped_cpu() -> Duration {
    let usage = reaped_usage();
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Returns the page faults of all reaped children and their reaped children.
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

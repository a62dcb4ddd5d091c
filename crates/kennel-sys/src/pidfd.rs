//! Pidfds: a pidfd always refers to the same process, even if its pid is reused.

use std::io;

use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::reap::WaitStatus;

/// What the kernel reports about the process of a pidfd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PidfdInfo {
    /// Its pid.
    pub pid: i32,
    /// Its parent's pid.
    pub parent: i32,
    /// Its real user.
    pub uid: u32,
}

/// The result of sending a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum SignalDelivery {
    /// It was sent.
    Yes,
    /// The process has ended and was reaped.
    Gone,
    /// The kernel forbids it: the process belongs to another user.
    NotPermitted,
}

/// Opens a pidfd of the process that has this pid *now*. Check it with [`info`].
pub fn open(pid: i32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = Pid::from_raw(pid) else { return Ok(None) };
    match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => Ok(Some(fd)),
        // INVAL and NOENT: the pid is now that of a thread.
        Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends a signal to the process of a pidfd.
pub fn send(pidfd: impl AsFd, signal: Signal) -> io::Result<SignalDelivery> {
    match rustix::process::pidfd_send_signal(pidfd, signal) {
        Ok(()) => Ok(SignalDelivery::Yes),
        Err(Errno::SRCH) => Ok(SignalDelivery::Gone),
        Err(Errno::PERM) => Ok(SignalDelivery::NotPermitted),
        Err(error) => Err(error.into()),
    }
}

/// The first 64 bytes of the kernel's `struct pidfd_info` (Linux 6.13; the exit code since 6.15).
#[repr(C)]
#[derive(Default)]
struct KernelInfo {
    mask: u64,
    cgroup: u64,
    pid: u32,
    tgid: u32,
    ppid: u32,
    ruid: u32,
    rgid: u32,
    euid: u32,
    egid: u32,
    suid: u32,
    sgid: u32,
    fsuid: u32,
    fsgid: u32,
    exit_code: i32,
}

const INFO_PID: u64 = 1;
const INFO_CREDS: u64 = 1 << 1;
const INFO_EXIT: u64 = 1 << 3;
/// `_IOWR(0xFF, 11, struct pidfd_info)`, with the size of its first version.
const PIDFD_GET_INFO: u64 = (3 << 30) | (64 << 16) | (0xFF << 8) | 11;

fn ask(pidfd: BorrowedFd<'_>, mask: u64) -> io::Result<KernelInfo> {
    let mut info = KernelInfo { mask, ..KernelInfo::default() };
    // SAFETY: the request contains the size of `info`, and the kernel accesses nothing beyond it.
    let done = unsafe { libc::ioctl(pidfd.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(info) }
}

/// Returns the process of a pidfd, or `None` if it has been reaped.
///
/// `pid` is the number with which the pidfd was opened. On kernels before 6.13 `/proc` is read, and
/// the answer counts only if the process still exists afterwards.
pub fn info(pidfd: BorrowedFd<'_>, pid: i32) -> io::Result<Option<PidfdInfo>> {
    #[expect(clippy::cast_possible_wrap, reason = "a pid is far below 2^31")]
    match ask(pidfd, INFO_PID | INFO_CREDS) {
        Ok(info) if info.mask & INFO_PID != 0 => {
            Ok(Some(PidfdInfo { pid: info.tgid as i32, parent: info.ppid as i32, uid: info.ruid }))
        }
        Ok(_) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        // ENOTTY and EINVAL: an older kernel.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)) => {
            info_from_proc(pidfd, pid)
        }
        Err(error) => Err(error),
    }
}

fn info_from_proc(pidfd: BorrowedFd<'_>, pid: i32) -> io::Result<Option<PidfdInfo>> {
    let Some(stat) = crate::identity::ProcessStat::read(pid)? else { return Ok(None) };
    let uid = match std::fs::metadata(format!("/proc/{pid}")) {
        Ok(meta) => std::os::unix::fs::MetadataExt::uid(&meta),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // It still exists, so its pid was not reused before the reads.
    Ok(exists(pidfd).then_some(PidfdInfo { pid, parent: stat.parent, uid }))
}

/// Returns whether all threads of the process have ended. It may still be a zombie.
pub fn has_ended(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ended = [PollFd::new(&pidfd, PollFlags::IN)];
    Ok(rustix::event::poll(&mut ended, Some(&now))? > 0)
}

/// Returns whether the process has not been reaped yet. A zombie exists.
pub fn exists(pidfd: BorrowedFd<'_>) -> bool {
    let (fd, nothing) = (pidfd.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: signal 0 only checks; no siginfo is passed.
    let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, 0, nothing, 0) };
    sent == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Returns the exit status of a reaped process to any process (since Linux 6.15).
pub fn ended(pidfd: BorrowedFd<'_>) -> Option<WaitStatus> {
    let info = ask(pidfd, INFO_EXIT).ok()?;
    if info.mask & INFO_EXIT == 0 {
        return None;
    }
    let status = info.exit_code;
    Some(match status & 0x7f {
        0 => WaitStatus::Code((status >> 8) & 0xff),
        signal => WaitStatus::Signal { signal, core: status & 0x80 != 0 },
    })
}

/// Returns whether this kernel reports parent, user and (since 6.15) exit status for a pidfd.
pub fn has_info() -> bool {
    let Ok(Some(own)) = open(rustix::process::getpid().as_raw_pid()) else { return false };
    // A newer kernel succeeds, and leaves the bit out as long as there is no exit status. An older
    // one does not know the request at all.
    ask(own.as_fd(), INFO_PID | INFO_EXIT).is_ok_and(|info| info.mask & INFO_PID != 0)
}

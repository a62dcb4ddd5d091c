//! Handles on processes: a pidfd is one process for good, whatever becomes of its number.

use std::io;

use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::reap::WaitStatus;

/// What the kernel says of the process behind a pidfd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PidfdInfo {
    /// Its pid.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// Its real user.
    pub uid: u32,
}

/// What came of sending a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum SignalDelivery {
    /// It was sent.
    Yes,
    /// The process has ended and was reaped.
    Gone,
    /// The kernel forbids it: another user's process.
    NotPermitted,
}

/// Opens a handle on the process that has this number *now*; check with [`info`] that it is the one
/// that was meant.
///
/// # Errors
/// What the kernel said, other than that there is no such process.
pub fn open(pid: i32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = Pid::from_raw(pid) else {
        return Ok(None);
    };
    match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => Ok(Some(fd)),
        // The second and third: the number is a thread's by now.
        Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends a signal to the process behind the handle.
///
/// # Errors
/// What the kernel said, other than gone or not permitted.
pub fn send(pidfd: impl AsFd, signal: Signal) -> io::Result<SignalDelivery> {
    match rustix::process::pidfd_send_signal(pidfd, signal) {
        Ok(()) => Ok(SignalDelivery::Yes),
        Err(rustix::io::Errno::SRCH) => Ok(SignalDelivery::Gone),
        Err(rustix::io::Errno::PERM) => Ok(SignalDelivery::NotPermitted),
        Err(error) => Err(error.into()),
    }
}

/// The kernel's `struct pidfd_info`, its first 64 bytes (Linux 6.13; the exit code since 6.15).
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
    // SAFETY: the request carries the size of `info`, which the kernel neither reads nor writes beyond.
    let done = unsafe { libc::ioctl(pidfd.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(info) }
}

/// Who is behind the handle; `None` if it has ended and was reaped.
///
/// `pid` is the number with which the handle was opened: kernels before 6.13 are asked by it, and the
/// answer is believed only if the process behind the handle is seen to exist afterwards.
///
/// # Errors
/// What the kernel said.
pub fn info(pidfd: BorrowedFd<'_>, pid: i32) -> io::Result<Option<PidfdInfo>> {
    #[expect(clippy::cast_possible_wrap, reason = "a pid is far below")]
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
    let Some(stat) = crate::identity::ProcessStat::read(pid)? else {
        return Ok(None);
    };
    let uid = match std::fs::metadata(format!("/proc/{pid}")) {
        Ok(meta) => std::os::unix::fs::MetadataExt::uid(&meta),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Still there, so its number was not another's while we read.
    Ok(exists(pidfd).then_some(PidfdInfo { pid, parent: stat.parent, uid }))
}

/// Whether the process behind the handle has ended, with all its threads; it may be a zombie still.
///
/// # Errors
/// What the kernel said.
pub fn has_ended(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ended = [PollFd::new(&pidfd, PollFlags::IN)];
    Ok(rustix::event::poll(&mut ended, Some(&now))? > 0)
}

/// Whether the process behind the handle has not been reaped yet; a zombie exists.
#[must_use]
pub fn exists(pidfd: BorrowedFd<'_>) -> bool {
    let (fd, nothing) = (pidfd.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: signal 0 is only a question; no siginfo is passed.
    let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, 0, nothing, 0) };
    sent == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// How the process behind the handle ended, for those who are not its parent: told by newer kernels
/// (6.15) once it was reaped.
#[must_use]
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

/// Whether this kernel tells more of a process by its handle: parent, user, and (6.15) exit status.
#[must_use]
pub fn tells_more() -> bool {
    let Ok(Some(own)) = open(rustix::process::getpid().as_raw_pid()) else {
        return false;
    };
    // A kernel that knows the exit status leaves its bit out as long as there is none, and says so by
    // success; an older one does not know the request at all.
    ask(own.as_fd(), INFO_PID | INFO_EXIT).is_ok_and(|info| info.mask & INFO_PID != 0)
}

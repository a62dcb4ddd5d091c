//! Blocks signals, and reads them from a descriptor, without handlers.

use std::io;

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::raw::syscall;

/// Blocks all signals of this thread until it is dropped, including those that libc reserves.
#[derive(Debug)]
pub(crate) struct AllBlocked {
    before: u64,
}

impl AllBlocked {
    pub(crate) fn new() -> Self {
        let (all, mut before) = (u64::MAX, 0_u64);
        set_mask(&all, Some(&mut before));
        Self { before }
    }
}

impl Drop for AllBlocked {
    fn drop(&mut self) {
        set_mask(&self.before, None);
    }
}

/// A raw call, since libc's wrapper silently skips the signals that it reserves.
fn set_mask(mask: &u64, before: Option<&mut u64>) {
    let old = before.map_or(0, |before| std::ptr::from_mut(before) as usize);
    let args = [libc::SIG_SETMASK as usize, std::ptr::from_ref(mask) as usize, old, 8, 0, 0];
    // SAFETY: both pointers are to eight bytes, or null; the call can't fail with these arguments.
    unsafe { syscall(libc::SYS_rt_sigprocmask, args) };
}

/// A descriptor from which signals are read. They are blocked in the thread that created it.
///
/// Create it before any other thread is started, or other threads may still receive the signals.
#[derive(Debug)]
pub struct SignalFd(OwnedFd);

impl SignalFd {
    /// Blocks `signals` in this thread and opens the descriptor (non-blocking, close-on-exec).
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        let set = signal_set(signals)?;
        change_mask(libc::SIG_BLOCK, &set)?;
        // SAFETY: a valid set; -1 asks for a new descriptor.
        let fd =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, without another owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Returns the next signal that has arrived, if any.
    pub fn next(&self) -> io::Result<Option<i32>> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut bytes = [0_u8; SIZE];
        match rustix::io::read(&self.0, &mut bytes) {
            Ok(_) => {
                // The first field is the number of the signal.
                let [a, b, c, d, ..] = bytes;
                Ok(Some(i32::from_ne_bytes([a, b, c, d])))
            }
            Err(rustix::io::Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl rustix::fd::AsFd for SignalFd {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for SignalFd {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Unblocks every signal in this thread, for a process that inherited a mask.
pub fn unblock_all() {
    set_mask(&0, None);
}

/// Returns whether this process ignores the signal. A process started by `nohup` ignores HUP.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: `action` is valid for writes, and the action is not changed.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Ignores these signals in this process. Processes started by [`crate::clone`] don't inherit that.
///
/// # Errors
/// `EINVAL` for a signal that can't be ignored.
pub fn ignore(signals: &[i32]) -> io::Result<()> {
    for &signal in signals {
        // SAFETY: SIG_IGN runs no code.
        if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Lets a stop signal, which is blocked in this thread, take its default effect. The kernel does
/// not stop a process that no shell could continue. An invalid signal has no effect.
pub fn take_default(signal: i32) {
    let Ok(set) = signal_set(&[signal]) else { return };
    // SAFETY: the signal is for this thread alone, so it is pending until it is unblocked here.
    unsafe { libc::raise(signal) };
    // The signal takes effect in the first call. With a valid set neither call fails.
    change_mask(libc::SIG_UNBLOCK, &set).and_then(|()| change_mask(libc::SIG_BLOCK, &set)).ok();
}

fn signal_set(signals: &[i32]) -> io::Result<libc::sigset_t> {
    // SAFETY: all-zero is a valid, empty sigset_t.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    for &signal in signals {
        // SAFETY: the pointer is valid.
        if unsafe { libc::sigaddset(&raw mut set, signal) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(set)
}

fn change_mask(how: i32, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: a valid set; the old mask is not requested.
    match unsafe { libc::pthread_sigmask(how, set, std::ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

//! Blocking signals, and reading them from a descriptor in place of handlers.

use std::io;

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::raw::syscall;

/// All signals of this thread are blocked while this lives; even those that libc keeps to itself.
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

/// Raw, since libc's own wrapper silently leaves out the signals that it uses itself.
fn set_mask(mask: &u64, before: Option<&mut u64>) {
    let old = before.map_or(0, |before| std::ptr::from_mut(before) as usize);
    let args = [libc::SIG_SETMASK as usize, std::ptr::from_ref(mask) as usize, old, 8, 0, 0];
    // SAFETY: both pointers are to eight bytes, or null; the call can't fail with these arguments.
    unsafe { syscall(libc::SYS_rt_sigprocmask, args) };
}

/// A descriptor from which the given signals are read; they are blocked in the thread that made it.
///
/// Make it before any other thread is started, or those may still take the signals.
#[derive(Debug)]
pub struct SignalFd(OwnedFd);

impl SignalFd {
    /// Blocks `signals` in this thread and opens the descriptor (non-blocking, close-on-exec).
    ///
    /// # Errors
    /// What the kernel said.
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        // SAFETY: all-zero is a valid sigset_t, and sigemptyset and sigaddset get a valid pointer.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        unsafe { libc::sigemptyset(&raw mut set) };
        for &signal in signals {
            // SAFETY: as above.
            if unsafe { libc::sigaddset(&raw mut set, signal) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: a valid set; the old mask isn't asked for.
        let blocked =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if blocked != 0 {
            return Err(io::Error::from_raw_os_error(blocked));
        }
        // SAFETY: a valid set; -1 asks for a new descriptor.
        let fd =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, owned by nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal that has arrived, if any.
    ///
    /// # Errors
    /// What the kernel said, other than that there is none.
    pub fn next(&self) -> io::Result<Option<i32>> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut bytes = [0_u8; SIZE];
        match rustix::io::read(&self.0, &mut bytes) {
            Ok(_) => {
                // The signal's number is the first field.
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

/// Unblocks every signal in this thread, for a process that inherited a mask it has no use for.
pub fn unblock_all() {
    set_mask(&0, None);
}

/// Whether this process ignores the signal, as one started by `nohup` ignores HUP.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: `action` is valid for writes, and no new action is set.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Ignores these signals from now on, in this process; a process started by [`crate::clone`] does not
/// inherit that.
///
/// # Errors
/// `EINVAL` for a signal that can't be ignored.
pub fn ignore(signals: &[i32]) -> io::Result<()> {
    for &signal in signals {
        // SAFETY: SIG_IGN is no handler: no code of ours runs on the signal.
        if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Does to this process what `signal` does by default, as if it were not blocked in this thread; for
/// signals that stop. The kernel knows when that would be for ever (no shell to continue us), and doesn't.
pub fn take_default(signal: i32) {
    // SAFETY: all-zero is a valid sigset_t.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a valid pointer, and a signal that the caller got from the kernel.
    unsafe { libc::sigaddset(&raw mut set, signal) };
    // SAFETY: the signal is for this thread alone, so it is pending here when we unblock it.
    unsafe { libc::raise(signal) };
    // SAFETY: a valid set; the signal takes effect in this call.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

//! Pseudo-terminals.

use std::io;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use serde::{Deserialize, Serialize};

use crate::fault::{CallError, call};

/// A size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Columns.
    pub columns: u16,
}

impl Default for Size {
    /// Returns the size of a VT100.
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

/// Both ends of a new pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    /// The side that shows the terminal.
    pub master: OwnedFd,
    /// The side of the program.
    pub slave: OwnedFd,
}

/// Opens a pseudo-terminal of this size. Both ends are close-on-exec, and don't become a
/// controlling terminal.
pub fn open(size: Size) -> Result<Pty, CallError> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = call("open /dev/ptmx", || rustix::pty::openpt(flags))?;
    call("TIOCSPTLCK", || rustix::pty::unlockpt(&master))?;
    let slave = call("TIOCGPTPEER", || slave_of(master.as_fd()))?;
    call("TIOCSWINSZ", || resize(&master, size))?;
    Ok(Pty { master, slave })
}

/// Opens the program's side through the master, not by name, so no mount can replace it.
pub fn slave_of(master: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the request takes flags by value and returns a new descriptor.
    let fd = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets the size. If it changes, the kernel sends SIGWINCH to the program.
pub fn resize(terminal: impl AsFd, size: Size) -> io::Result<()> {
    let winsize = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, winsize)?)
}

/// Returns the size of a terminal, if it is known.
///
/// # Errors
/// `ENOTTY` if this is not a terminal, otherwise the kernel's error.
pub fn size(terminal: impl AsFd) -> io::Result<Option<Size>> {
    let Winsize { ws_row: rows, ws_col: columns, .. } = rustix::termios::tcgetwinsize(terminal)?;
    Ok((rows > 0 && columns > 0).then_some(Size { rows, columns }))
}

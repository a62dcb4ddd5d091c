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
    /// The size of a VT100.
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

/// Both ends of a new pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    /// The side of whoever shows the terminal.
    pub master: OwnedFd,
    /// The side of the program.
    pub slave: OwnedFd,
}

/// Opens a pseudo-terminal of this size; both ends are close-on-exec and become nobody's controlling
/// terminal.
///
/// # Errors
/// The call that failed.
pub fn open(size: Size) -> Result<Pty, CallError> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = call("open /dev/ptmx", || rustix::pty::openpt(flags))?;
    call("TIOCSPTLCK", || rustix::pty::unlockpt(&master))?;
    let slave = call("TIOCGPTPEER", || slave_of(master.as_fd()))?;
    call("TIOCSWINSZ", || resize(&master, size))?;
    Ok(Pty { master, slave })
}

/// Opens the other end through the master, not by its name: no mount can put another file in its place.
///
/// # Errors
/// What the kernel said.
pub fn slave_of(master: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the request takes flags by value and returns a new descriptor.
    let fd = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets the size; the kernel tells the program by SIGWINCH if it changed.
///
/// # Errors
/// What the kernel said.
pub fn resize(terminal: impl AsFd, size: Size) -> io::Result<()> {
    let winsize = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, winsize)?)
}

/// The size of a terminal; `None` if it doesn't know.
///
/// # Errors
/// What the kernel said; `ENOTTY` if it is no terminal.
pub fn size(terminal: impl AsFd) -> io::Result<Option<Size>> {
    let Winsize { ws_row: rows, ws_col: columns, .. } = rustix::termios::tcgetwinsize(terminal)?;
    Ok((rows > 0 && columns > 0).then_some(Size { rows, columns }))
}

//! A tiny process that restores our terminal if we are killed.
//!
//! While an agent has a terminal of its own, ours is in raw mode, which a shell can't use. We
//! restore it on exit, but not if we are killed. Therefore this program, in a role of its own,
//! holds the terminal and one end of a socket, reads the settings, and waits. A byte on the socket
//! means that all is well; its end means that we were killed. The process has its own POSIX
//! session, so that no signal of the terminal reaches it. It is not part of the agent's session.

use std::ffi::CString;
use std::io;
use std::time::{Duration, Instant};

use kennel_sys::reap;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::Signal;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::poll::readable;
use crate::roles;

/// How long it may take to start or to exit.
const TIMEOUT: Duration = Duration::from_secs(5);
const READY: u8 = b'r';
const DONE: u8 = b'd';

/// The guard process. [`Guard::dismiss`] ends it; dropping it makes it restore the terminal.
#[derive(Debug)]
pub(super) struct Guard {
    socket: OwnedFd,
    process: OwnedFd,
}

impl Guard {
    /// Starts the guard, and waits until it knows the settings of our terminal.
    pub(super) fn start() -> anyhow::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let deadline = Instant::now() + TIMEOUT;
        let streams = [rustix::stdio::stdin(), theirs.as_fd(), null.as_fd()];
        let argv = vec![CString::new(roles::TERMINAL_GUARD)?];
        let process = roles::spawn(argv, Vec::new(), streams, deadline)?;
        drop(theirs);
        readable(&socket, Some(deadline))?;
        let mut word = [0];
        rustix::net::recv(&socket, &mut word, rustix::net::RecvFlags::DONTWAIT)?;
        anyhow::ensure!(word == [READY], "it exited");
        Ok(Self { socket, process })
    }

    pub(super) fn dismiss(self) {
        let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
        // A guard that was killed needs no message.
        rustix::net::send(&self.socket, &[DONE], flags).ok();
        let deadline = Instant::now() + TIMEOUT;
        while matches!(reap::reap(self.process.as_fd()), Ok(None)) && Instant::now() < deadline {
            readable(&self.process, Some(deadline)).ok();
        }
    }
}

/// The guard's main function: standard input is the terminal, standard output the socket.
pub(crate) fn serve() -> io::Result<()> {
    let (terminal, socket) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    rustix::thread::set_name(c"kennel-tty")?;
    // A signal that ends a whole tree must not end the guard, which exits with its client.
    let ignored = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::PIPE];
    kennel_sys::signals::ignore(&ignored.map(Signal::as_raw))?;
    let settings = tcgetattr(terminal)?;
    rustix::io::write(socket, &[READY])?;
    let mut word = [0];
    loop {
        match rustix::io::read(socket, &mut word) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(1) => return Ok(()),
            Ok(_) | Err(_) => return Ok(tcsetattr(terminal, OptionalActions::Now, &settings)?),
        }
    }
}

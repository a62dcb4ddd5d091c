//! Becoming a holder.

use std::ffi::{CString, OsStr};
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kennel_sys::clone::{self, ChildSpec, GateOutcome};
use kennel_sys::namespace::{NamespaceInit, enter_new_pid_namespace};
use kennel_sys::reap;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use super::message::LARGEST_REQUEST;
use super::message::{Failure, Report};
use super::serve::serve;
use super::surroundings::Surroundings;
use crate::namespace;
use crate::pen::poll;
use crate::wire::Channel;

/// The name by which a program knows that it is a holder, and by which people see it in `ps`.
pub(crate) const HOLDER: &str = "kennel-holder";
/// A holder that makes a pid namespace and starts the real one as its init.
pub(crate) const HOLDER_OF_NAMESPACE: &str = "kennel-holder-of-namespace";
/// That init.
const HOLDER_AS_INIT: &str = "kennel-holder-as-init";

/// Serves as a holder and exits, if this process was started as one; else returns at once.
///
/// Call it first thing in `main`, before any thread is started.
pub fn take_role() {
    let serving = match std::env::args_os().next().as_deref().and_then(OsStr::to_str) {
        Some(HOLDER) => hold(None),
        Some(HOLDER_OF_NAMESPACE) => hold_namespace(),
        Some(HOLDER_AS_INIT) => hold_as_init(),
        _ => return,
    };
    let code = match serving {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads our stderr; the caller sees the socket close.
        Err(_) => ExitCode::FAILURE,
    };
    std::process::exit(i32::from(code != ExitCode::SUCCESS));
}

/// The caller's socket, which arrives as standard input; 0 to 2 are null from then on.
fn take_socket() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    if rustix::net::sockopt::socket_domain(&socket)? != rustix::net::AddressFamily::UNIX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(socket)
}

fn hold(namespace: Option<NamespaceInit>) -> io::Result<()> {
    let channel = Channel::new(take_socket()?, LARGEST_REQUEST);
    let own = Surroundings::settle_in(namespace)?;
    serve(channel, &own)
}

/// As the init of a new pid namespace: with its own view of `/proc`, then like any other holder.
fn hold_as_init() -> io::Result<()> {
    match namespace::settle_as_init() {
        Ok(init) => hold(Some(init)),
        Err(error) => refuse(&format!("can't set up /proc for the pid namespace: {error}")),
    }
}

fn refuse(why: &str) -> io::Result<()> {
    let channel = Channel::new(take_socket()?, LARGEST_REQUEST);
    let _told = channel.send(&Report::Failed(Failure::Pen(why.to_owned())).encode(), &[])?;
    Ok(())
}

/// Makes the namespace, starts its init, waits for its end. If we are killed, the init goes on: it hears
/// from the caller by the same socket. If the init is killed, the kernel ends everyone in the namespace.
fn hold_namespace() -> io::Result<()> {
    let with_user = !rustix::process::geteuid().is_root();
    // The new namespace can't be entered by this process itself, so its number stays what it is.
    if let Err(error) = enter_new_pid_namespace(with_user) {
        return refuse(&format!("can't make a pid namespace: {error}"));
    }
    let init = match start_init() {
        Ok(init) => init,
        Err(error) => return refuse(&format!("can't start the init of a pid namespace: {error}")),
    };
    // Only the init may hold the socket now: its end is what the caller watches for.
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    while reap::reap(init.as_fd())?.is_none() {
        let _ended_or_interrupted = poll(&mut [PollFd::new(&init, PollFlags::IN)], None)?;
    }
    Ok(())
}

fn start_init() -> io::Result<OwnedFd> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let start = ChildSpec {
        path: CString::from(c"/proc/self/exe"),
        argv: std::iter::once(CString::new(HOLDER_AS_INIT)?)
            .chain(std::env::args().skip(1).map_while(|arg| CString::new(arg).ok()))
            .collect(),
        env: Vec::new(),
        folder: None,
        umask: None,
        limits: Vec::new(),
        streams: [rustix::stdio::stdin(), null.as_fd(), null.as_fd()],
        terminal: false,
        cgroup: None,
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    match clone::start(start).map_err(io::Error::other)?.open(deadline).map_err(io::Error::other)? {
        GateOutcome::Running(pidfd) => Ok(pidfd),
        GateOutcome::Failed(_, error) => Err(io::Error::other(error.error)),
        GateOutcome::Died(_) => Err(io::Error::other("it was killed")),
        GateOutcome::Pending(opening) => {
            drop(opening.give_up());
            Err(io::Error::other("it could not be loaded in time"))
        }
    }
}

//! Becoming a supervisor.

use std::ffi::{CString, OsStr};
use std::io;
use std::time::Instant;

use kennel_sys::clone::{self, ChildSpec};
use kennel_sys::namespace::{NamespaceInit, enter_new_pid_namespace, settle_as_init};
use kennel_sys::reap;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};

use super::EXEC;
use super::message::{MAX_REQUEST, SupervisorFailure, SupervisorReport};
use super::process::{OwnEnvironment, serve};
use crate::command::open_null;
use crate::pen::poll;
use crate::wire::{Channel, WireMessage};

/// The `argv[0]` that makes a program run as a supervisor, and that `ps` shows.
pub(crate) const SUPERVISOR: &str = "kennel-supervisor";
/// A supervisor that creates a pid namespace and starts the real supervisor as its init.
pub(crate) const SUPERVISOR_OF_NAMESPACE: &str = "kennel-supervisor-of-namespace";
/// The init of that namespace.
const SUPERVISOR_AS_INIT: &str = "kennel-supervisor-as-init";

/// Runs as a supervisor and exits, if this process was started as one. Otherwise returns at once.
///
/// Call this first in `main`, before any thread is started.
pub fn run_if_supervisor() {
    let served = match std::env::args_os().next().as_deref().and_then(OsStr::to_str) {
        Some(SUPERVISOR) => supervise(None),
        Some(SUPERVISOR_OF_NAMESPACE) => supervise_namespace(),
        Some(SUPERVISOR_AS_INIT) => supervise_as_init(),
        _ => return,
    };
    // An error has no reader: the program that started this process sees the socket close.
    std::process::exit(i32::from(served.is_err()));
}

/// Takes the program's socket, which arrives as standard input, and puts `/dev/null` in its place.
fn take_socket() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    if rustix::net::sockopt::socket_domain(&socket)? != rustix::net::AddressFamily::UNIX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    rustix::stdio::dup2_stdin(open_null()?)?;
    Ok(socket)
}

fn supervise(namespace: Option<NamespaceInit>) -> io::Result<()> {
    let channel = Channel::new(take_socket()?, MAX_REQUEST);
    let own = OwnEnvironment::set_up(namespace)?;
    serve(channel, &own)
}

/// As the init of a new pid namespace: sets up its own `/proc`, then supervises as usual.
fn supervise_as_init() -> io::Result<()> {
    match settle_as_init() {
        Ok(init) => supervise(Some(init)),
        Err(error) => refuse(&format!("can't set up /proc for the pid namespace: {error}")),
    }
}

fn refuse(why: &str) -> io::Result<()> {
    let channel = Channel::new(take_socket()?, MAX_REQUEST);
    let failed = SupervisorReport::Failed(SupervisorFailure::Pen(why.to_owned()));
    let _delivery = channel.send(&failed.encode(), &[])?;
    Ok(())
}

/// Creates the namespace, starts its init, and waits for its end. If this process is killed, the
/// init continues with the same socket. If the init is killed, so is the whole namespace.
fn supervise_namespace() -> io::Result<()> {
    let with_user = !rustix::process::geteuid().is_root();
    // This process itself stays outside the new namespace, so its pid stays the same.
    if let Err(error) = enter_new_pid_namespace(with_user) {
        return refuse(&format!("can't create a pid namespace: {error}"));
    }
    let init = match start_init() {
        Ok(init) => init,
        Err(error) => return refuse(&format!("can't start the init of a pid namespace: {error}")),
    };
    // From now on only the init holds the socket: the program waits for it to close.
    rustix::stdio::dup2_stdin(open_null()?)?;
    while reap::reap(init.as_fd())?.is_none() {
        let _ended_or_interrupted = poll(&mut [PollFd::new(&init, PollFlags::IN)], None)?;
    }
    Ok(())
}

fn start_init() -> io::Result<OwnedFd> {
    let null = open_null()?;
    let argv = std::iter::once(CString::new(SUPERVISOR_AS_INIT)?)
        .chain(std::env::args().skip(1).map_while(|arg| CString::new(arg).ok()))
        .collect();
    let streams = [rustix::stdio::stdin(), null.as_fd(), null.as_fd()];
    let spec = ChildSpec::new(CString::from(c"/proc/self/exe"), argv, streams);
    clone::start(spec).map_err(io::Error::other)?.run(Instant::now() + EXEC)
}

//! The interface between the daemon and the server of its API, which is in another crate.

use std::pin::Pin;

use tokio::net::UnixListener;

use crate::handle::DaemonHandle;
use crate::owner::ExitReason;

/// A task of a server, or a condition that it waits for.
pub type ServerTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Creates the server once the daemon is ready to answer.
pub type CreateServer = Box<dyn FnOnce(ServerSetup) -> Box<dyn ApiServer> + Send>;

#[derive(Debug)]
pub struct ServerSetup {
    pub daemon: DaemonHandle,
    /// The program's version, for people to read.
    pub version: String,
    /// Whether the machine was restarted since the home's last daemon ran.
    pub rebooted: bool,
    /// How many descriptors connections over TCP may use.
    pub max_connections: usize,
}

pub trait ApiServer: Send + 'static {
    /// Serves requests at the socket in the home until `stop` completes, and answers those that
    /// have begun.
    fn serve_socket(&self, listener: UnixListener, stop: ServerTask) -> ServerTask;

    /// Serves requests over TCP, where and if that is configured, until the daemon shuts down.
    fn serve_tcp(&self) -> ServerTask;

    /// Completes when no client is attached any more.
    fn all_detached(&self) -> ServerTask;

    /// Cleans up after the daemon has stopped serving. It still holds its lock.
    fn clean_up(&self, reason: ExitReason);
}

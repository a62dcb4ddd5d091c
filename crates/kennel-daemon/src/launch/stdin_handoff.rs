//! The handoff of standard input: a client passes its descriptor here, and names the ticket in its
//! next request.
//!
//! HTTP can't carry descriptors, and the agent must get the client's own standard input.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kennel_pen::wire::{Channel, Received};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::os::async_fd;
use crate::os::home::STDIN_SOCKET;

const TICKET: usize = 32;
const MAX_PENDING: usize = 64;
const LIFETIME: Duration = Duration::from_secs(30);
/// How long a client may take to send its descriptor.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Default)]
pub(crate) struct StdinHandoff(Arc<Mutex<VecDeque<PendingStdin>>>);

#[derive(Debug)]
struct PendingStdin {
    ticket: String,
    descriptor: OwnedFd,
    until: Instant,
}

impl StdinHandoff {
    pub(crate) fn take(&self, ticket: &str) -> Option<OwnedFd> {
        let mut all = self.current();
        let index = all.iter().position(|pending| pending.ticket == ticket)?;
        all.remove(index).map(|pending| pending.descriptor)
    }

    /// Keeps a descriptor; if there are too many, the oldest is dropped.
    fn keep(&self, ticket: String, descriptor: OwnedFd) {
        let mut all = self.current();
        if all.len() >= MAX_PENDING {
            all.pop_front();
        }
        all.push_back(PendingStdin { ticket, descriptor, until: Instant::now() + LIFETIME });
    }

    /// Drops the expired descriptors, and returns the others.
    fn current(&self) -> std::sync::MutexGuard<'_, VecDeque<PendingStdin>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        all.retain(|pending| pending.until > now);
        all
    }

    /// Listens in the home, in place of a former daemon: the caller must have the daemon's lock.
    pub(crate) fn listen(home: &Path) -> io::Result<AsyncFd<OwnedFd>> {
        let socket = bind(home, STDIN_SOCKET)?;
        async_fd::watch(socket)
    }

    pub(crate) async fn serve(self, listener: AsyncFd<OwnedFd>) {
        loop {
            match accept(&listener).await {
                Ok(socket) => {
                    let handoff = self.clone();
                    tokio::spawn(async move {
                        let received = timeout(CLIENT_TIMEOUT, handoff.receive(socket)).await;
                        if let Err(error) = received.unwrap_or_else(|late| Err(late.into())) {
                            tracing::warn!(%error, "can't take over a client's standard input");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "can't accept a connection for standard input");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn receive(&self, socket: OwnedFd) -> io::Result<()> {
        let uid = rustix::net::sockopt::socket_peercred(&socket)?.uid;
        if uid != rustix::process::geteuid() {
            return Err(io::Error::other(format!(
                "user {} is not the owner of the home",
                uid.as_raw()
            )));
        }
        let channel = async_fd::watch(Channel::new(socket, TICKET + 1))?;
        let (ticket, descriptors) = loop {
            match channel.get_ref().receive()? {
                Received::Message(bytes, descriptors) => break (bytes, descriptors),
                Received::Nothing => channel.readable().await?.clear_ready(),
                Received::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        };
        let ticket = String::from_utf8(ticket).map_err(io::Error::other)?;
        let sound = ticket.len() == TICKET && ticket.bytes().all(|b| b.is_ascii_hexdigit());
        let Some(descriptor) = descriptors.into_iter().next().filter(|_| sound) else {
            return Err(io::Error::other("expected a ticket with one descriptor"));
        };
        self.keep(ticket, descriptor);
        let handoff = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LIFETIME).await;
            drop(handoff.current()); // drops the descriptor if no request took it
        });
        // A client that has disconnected sends no request.
        let _delivery = channel.get_ref().send(b"1", &[])?;
        Ok(())
    }
}

/// Binds a seqpacket socket in the home, however long the home's path is, in place of one that
/// exists.
fn bind(home: &Path, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(home, flags, Mode::empty())?;
    match std::fs::remove_file(home.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let address = SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))?;
    rustix::net::bind(&socket, &address)?;
    rustix::fs::chmod(home.join(name), Mode::RUSR | Mode::WUSR)?;
    rustix::net::listen(&socket, 64)?;
    Ok(socket)
}

async fn accept(listener: &AsyncFd<OwnedFd>) -> io::Result<OwnedFd> {
    loop {
        let mut ready = listener.readable().await?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match rustix::net::accept_with(listener.get_ref().as_fd(), flags) {
            Ok(socket) => return Ok(socket),
            Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    fn connect(home: &Path) -> OwnedFd {
        let flags = SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
                .unwrap();
        let address = SocketAddrUnix::new(home.join(STDIN_SOCKET)).unwrap();
        rustix::net::connect(&socket, &address).unwrap();
        socket
    }

    #[tokio::test]
    async fn gives_a_descriptor_once_and_only_for_its_ticket() {
        let home = tempfile::tempdir().unwrap();
        let handoff = StdinHandoff::default();
        let listener = StdinHandoff::listen(home.path()).unwrap();
        tokio::spawn(handoff.clone().serve(listener));
        let (mut reader, writer) = std::io::pipe().unwrap();
        let ticket = "0123456789abcdef0123456789abcdef";
        let channel = async_fd::watch(Channel::new(connect(home.path()), 8)).unwrap();
        let sent = channel.get_ref().send(ticket.as_bytes(), &[writer.as_fd()]).unwrap();
        assert_eq!(sent, kennel_pen::wire::Delivery::Sent);
        drop(writer);
        let answer = loop {
            match channel.get_ref().receive().unwrap() {
                Received::Message(bytes, _) => break bytes,
                Received::Nothing => channel.readable().await.unwrap().clear_ready(),
                Received::End => panic!("refused"),
            }
        };
        assert_eq!(answer, b"1");
        assert!(handoff.take("0".repeat(32).as_str()).is_none());
        let given = handoff.take(ticket).unwrap();
        assert!(handoff.take(ticket).is_none());
        std::fs::File::from(given).write_all(b"hello").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[tokio::test]
    async fn refuses_an_invalid_ticket() {
        let home = tempfile::tempdir().unwrap();
        let handoff = StdinHandoff::default();
        let listener = StdinHandoff::listen(home.path()).unwrap();
        tokio::spawn(handoff.clone().serve(listener));
        let null = std::fs::File::open("/dev/null").unwrap();
        for wrong in ["short", "zz23456789abcdef0123456789abcdef", &"0".repeat(33)] {
            let channel = async_fd::watch(Channel::new(connect(home.path()), 8)).unwrap();
            let sent = channel.get_ref().send(wrong.as_bytes(), &[null.as_fd()]);
            assert_eq!(sent.unwrap(), kennel_pen::wire::Delivery::Sent);
            channel.readable().await.unwrap().clear_ready();
            assert!(matches!(channel.get_ref().receive().unwrap(), Received::End), "{wrong}");
        }
        assert!(handoff.current().is_empty());
    }

    #[test]
    fn drops_the_oldest_descriptor_beyond_the_limit() {
        let handoff = StdinHandoff::default();
        let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        for number in 0..=MAX_PENDING {
            handoff.keep(format!("{number:032}"), null());
        }
        assert_eq!(handoff.current().len(), MAX_PENDING);
        assert!(handoff.take(&format!("{:032}", 0)).is_none());
        assert!(handoff.take(&format!("{MAX_PENDING:032}")).is_some());
    }
}

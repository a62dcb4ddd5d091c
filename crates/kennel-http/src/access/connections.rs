//! TCP connections. Their number is limited, the table records which tokens were used over each, and it can cut any of
//! them.
//!
//! If there are too many, the oldest unauthenticated connection is cut to make room for a new one. So idle connections
//! can't lock out a client that has a token.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, ready};

use rustix::net::Shutdown;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::lock;
use super::tokens::TokenId;

#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    pub(super) total: usize,
    /// Connections over which no token was used yet.
    pub(super) unauthenticated: usize,
    /// Connections over which the same token was used.
    pub(super) per_token: usize,
}

#[derive(Debug)]
pub(super) struct TcpConnections {
    limits: ConnectionLimits,
    table: Mutex<ConnectionTable>,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    next: u64,
    entries: BTreeMap<u64, ConnectionEntry>,
}

#[derive(Debug)]
struct ConnectionEntry {
    stream: Weak<TcpStream>,
    tokens: Vec<TokenId>,
    cut: bool,
}

impl ConnectionEntry {
    fn is_unauthenticated(&self) -> bool {
        self.tokens.is_empty() && !self.cut
    }

    /// Shuts the socket down for every reader and writer.
    fn cut(&mut self) {
        self.cut = true;
        if let Some(stream) = self.stream.upgrade() {
            // The client may have closed it.
            rustix::net::shutdown(&*stream, Shutdown::Both).ok();
        }
    }
}

/// A connection. Dropping the last reference removes its entry.
#[derive(Debug)]
pub(super) struct TcpConnection {
    number: u64,
    connections: Arc<TcpConnections>,
    pub(super) peer: IpAddr,
}

impl TcpConnections {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, table: Mutex::default() })
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        lock(&self.table)
    }

    /// Adds a connection. Returns `None` if there are too many and all are authenticated.
    pub(super) fn add(
        self: &Arc<Self>,
        stream: &Arc<TcpStream>,
        peer: SocketAddr,
    ) -> Option<Arc<TcpConnection>> {
        let mut table = self.table();
        let count = |counts: fn(&ConnectionEntry) -> bool| {
            table.entries.values().filter(|entry| counts(entry)).count()
        };
        let unauthenticated = count(ConnectionEntry::is_unauthenticated);
        let open = count(|entry| !entry.cut);
        if unauthenticated >= self.limits.unauthenticated || open >= self.limits.total {
            // Numbers increase, so the lowest is the oldest.
            let oldest = table.entries.values_mut().find(|entry| entry.is_unauthenticated());
            oldest?.cut();
        }
        table.next += 1;
        let number = table.next;
        let stream = Arc::downgrade(stream);
        table.entries.insert(number, ConnectionEntry { stream, tokens: Vec::new(), cut: false });
        drop(table);
        let peer = peer.ip().to_canonical();
        Some(Arc::new(TcpConnection { number, connections: self.clone(), peer }))
    }

    /// Cuts all connections over which one of these tokens was used, except one. Returns how many.
    pub(super) fn cut(&self, tokens: &[TokenId], spared: Option<&TcpConnection>) -> u64 {
        let spared = spared.map(|connection| connection.number);
        let mut table = self.table();
        let is_selected = |number: u64, entry: &ConnectionEntry| {
            let uses = entry.tokens.iter().any(|token| tokens.contains(token));
            uses && !entry.cut && Some(number) != spared
        };
        let entries = table.entries.iter_mut();
        let selected = entries.filter(|(number, entry)| is_selected(**number, entry));
        selected.map(|(_, entry)| entry.cut()).count() as u64
    }
}

impl TcpConnection {
    /// Records that a token was used over this connection. Returns false if there are too many with the same token.
    pub(super) fn use_token(&self, token: TokenId) -> bool {
        let mut table = self.connections.table();
        let uses = |entry: &ConnectionEntry| !entry.cut && entry.tokens.contains(&token);
        let count = table.entries.values().filter(|entry| uses(entry)).count();
        let Some(entry) = table.entries.get_mut(&self.number) else { return true };
        if entry.tokens.contains(&token) {
            return true;
        }
        let fits = count < self.connections.limits.per_token;
        if fits {
            entry.tokens.push(token);
        }
        fits
    }
}

impl Drop for TcpConnection {
    fn drop(&mut self) {
        self.connections.table().entries.remove(&self.number);
    }
}

/// A stream that shares its socket with the table of connections, without a second descriptor, so that the table can cut
/// it. Dropping it removes its entry, also after an upgrade.
#[derive(Debug)]
pub(super) struct CuttableStream {
    pub(super) stream: Arc<TcpStream>,
    pub(super) connection: Arc<TcpConnection>,
}

impl AsyncRead for CuttableStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read(buffer.initialize_unfilled()) {
                Ok(length) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for CuttableStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(rustix::net::shutdown(&*self.stream, Shutdown::Write).map_err(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::access::identity::Credential;
    use crate::access::tokens::test_identity;

    const LIMITS: ConnectionLimits =
        ConnectionLimits { total: 3, unauthenticated: 2, per_token: 3 };

    fn token() -> TokenId {
        match test_identity(kennel_types::api::Scope::Full).credential {
            Credential::Token { id, .. } => id,
            Credential::Socket => panic!("not over TCP"),
        }
    }

    /// Opens a connection. Returns the server's side, if it was added, and the client's side.
    async fn connect(
        connections: &Arc<TcpConnections>,
    ) -> (Option<(Arc<TcpStream>, Arc<TcpConnection>)>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let stream = Arc::new(stream);
        let connection = connections.add(&stream, peer);
        (connection.map(|connection| (stream, connection)), other)
    }

    async fn is_cut(other: &mut TcpStream) -> bool {
        let mut byte = [0];
        let end = other.read(&mut byte);
        let end = tokio::time::timeout(std::time::Duration::from_millis(50), end);
        matches!(end.await, Ok(Ok(0) | Err(_)))
    }

    #[tokio::test]
    async fn the_oldest_unauthenticated_connection_makes_room() {
        let connections = TcpConnections::new(LIMITS);
        let (first, mut first_other) = connect(&connections).await;
        let (known, mut known_other) = connect(&connections).await;
        known.as_ref().unwrap().1.use_token(token());
        let (_second, mut second_other) = connect(&connections).await;
        assert!(!is_cut(&mut first_other).await);
        let (third, mut third_other) = connect(&connections).await;
        assert!(is_cut(&mut first_other).await, "it is the oldest");
        assert!(!is_cut(&mut known_other).await && !is_cut(&mut second_other).await);
        third.as_ref().unwrap().1.use_token(token());
        let (fourth, _) = connect(&connections).await;
        assert!(fourth.is_some() && is_cut(&mut second_other).await);
        fourth.as_ref().unwrap().1.use_token(token());
        let (fifth, _) = connect(&connections).await;
        assert!(fifth.is_none(), "all are authenticated");
        drop(known);
        assert!(connect(&connections).await.0.is_some(), "one has gone");
        assert!(!is_cut(&mut third_other).await);
        drop((first, third, fourth));
        assert_eq!(connections.table().entries.len(), 1, "all but the second are removed");
    }

    #[tokio::test]
    async fn one_token_does_not_get_all_connections() {
        let connections = TcpConnections::new(ConnectionLimits { per_token: 1, ..LIMITS });
        let (one, _) = connect(&connections).await;
        let (two, _) = connect(&connections).await;
        let (one, two) = (one.unwrap(), two.unwrap());
        assert!(one.1.use_token(token()) && one.1.use_token(token()), "it is the same");
        assert!(!two.1.use_token(token()));
        drop(one);
        assert!(two.1.use_token(token()), "there is room again");
    }

    #[tokio::test]
    async fn cuts_the_connections_of_a_revoked_token() {
        let connections = TcpConnections::new(LIMITS);
        let (known, mut known_other) = connect(&connections).await;
        let (_unauthenticated, mut unauthenticated_other) = connect(&connections).await;
        known.as_ref().unwrap().1.use_token(token());
        assert_eq!(connections.cut(&[token()], None), 1);
        assert_eq!(connections.cut(&[token()], None), 0, "once");
        assert!(is_cut(&mut known_other).await && !is_cut(&mut unauthenticated_other).await);
    }
}

//! The API's Unix socket in the home. Connections of other users are refused.

use std::io;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::http::request::Parts;
use axum::serve::IncomingStream;
use tokio::net::unix::SocketAddr;
use tokio::net::{UnixListener, UnixStream};

use crate::access::socket_only;
use crate::error::ErrorResponse;
use crate::stream::write_timeout::WriteTimeout;

const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A listener that accepts only connections of the daemon's own user.
#[derive(Debug)]
pub(crate) struct OwnerOnlyListener {
    pub(crate) listener: UnixListener,
    pub(crate) write_timeout: Option<Duration>,
}

fn is_owner(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}

impl axum::serve::Listener for OwnerOnlyListener {
    type Io = WriteTimeout<UnixStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (WriteTimeout<UnixStream>, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => match is_owner(&stream) {
                    Ok(true) => return (WriteTimeout::new(stream, self.write_timeout), address),
                    Ok(false) => tracing::warn!("refused a connection of another user"),
                    Err(error) => tracing::warn!(%error, "can't identify the peer of a connection"),
                },
                Err(error) => {
                    tracing::warn!(%error, "can't accept a connection");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The process at the other end of a connection to the Unix socket, as the kernel identifies it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) pid: Option<i32>,
}

impl Connected<IncomingStream<'_, OwnerOnlyListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, OwnerOnlyListener>) -> Self {
        Self { pid: stream.io().get_ref().peer_cred().ok().and_then(|peer| peer.pid()) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Peer {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        match parts.extensions.get::<ConnectInfo<Self>>() {
            Some(ConnectInfo(peer)) => Ok(*peer),
            None => Err(socket_only("identifying the calling process").into()),
        }
    }
}

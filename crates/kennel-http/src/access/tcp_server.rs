//! Serves TCP connections. They can't keep the daemon from serving its Unix socket.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::connections::{CuttableStream, TcpConnection, TcpConnections};
use super::shutdown_requested;
use crate::stream::write_timeout::WriteTimeout;

/// How long a TLS handshake and the head of a request may take, and how long a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEAD: usize = 32 * 1024;
const MAX_HEADERS: usize = 64;
/// How long a connection may be silent before the kernel probes the other side.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const RETRY_PAUSE: Duration = Duration::from_millis(100);
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
    Content-Type: text/plain\r\nContent-Length: 21\r\n\r\ntoo many connections\n";

/// Serves until the daemon shuts down and every connection has ended.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    app: Router,
    connections: Arc<TcpConnections>,
    write_timeout: Option<Duration>,
    mut shutdown: watch::Receiver<bool>,
) {
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown_requested(&mut shutdown) => break,
            Some(_) = tasks.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                if let Some(stream) = admit(&connections, stream, peer, tls.is_some()) {
                    let stream = WriteTimeout::new(stream, write_timeout);
                    tasks.spawn(serve_tls(stream, tls.clone(), app.clone(), shutdown.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "can't accept a TCP connection");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

/// Adds a connection to the table, or responds that there are too many.
fn admit(
    connections: &Arc<TcpConnections>,
    stream: TcpStream,
    peer: SocketAddr,
    tls: bool,
) -> Option<CuttableStream> {
    let stream = Arc::new(stream);
    let Some(connection) = connections.add(&stream, peer) else {
        tracing::warn!("too many TCP connections");
        if !tls {
            // The response fits into the send buffer of a new connection. If it does not, give up.
            stream.try_write(FULL).ok();
        }
        return None;
    };
    set_options(&stream);
    Some(CuttableStream { stream, connection })
}

/// Makes the socket send small responses immediately, and detect clients that have vanished.
fn set_options(stream: &TcpStream) {
    let set = || -> io::Result<()> {
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(stream, KEEPALIVE_IDLE / 3)?;
        sockopt::set_tcp_keepcnt(stream, 3)?;
        Ok(())
    };
    if let Err(error) = set() {
        tracing::warn!(%error, "can't set the options of a TCP connection");
    }
}

async fn serve_tls(
    stream: WriteTimeout<CuttableStream>,
    tls: Option<TlsAcceptor>,
    app: Router,
    shutdown: watch::Receiver<bool>,
) {
    let connection = stream.get_ref().connection.clone();
    let peer = connection.peer;
    let Some(tls) = tls else { return serve_http(stream, connection, app, shutdown).await };
    match tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
        Ok(Ok(stream)) => serve_http(stream, connection, app, shutdown).await,
        Ok(Err(error)) => tracing::debug!(%error, %peer, "a TLS handshake failed"),
        Err(_) => tracing::debug!(%peer, "a TLS handshake timed out"),
    }
}

async fn serve_http(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    connection: Arc<TcpConnection>,
    app: Router,
    mut shutdown: watch::Receiver<bool>,
) {
    let peer = connection.peer;
    let app = TowerToHyperService::new(app);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(connection.clone());
        app.call(request)
    });
    let http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(http);
    let ended = tokio::select! {
        ended = http.as_mut() => ended,
        () = shutdown_requested(&mut shutdown) => {
            http.as_mut().graceful_shutdown();
            http.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "a TCP connection ended with an error");
    }
}

const _: () = assert!(FULL.len() < 1024, "it fits into any buffer");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_to_one_connection_too_many_is_complete() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    }
}

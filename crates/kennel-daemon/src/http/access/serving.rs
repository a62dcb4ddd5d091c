//! Connections over TCP, from the first byte to the last. Whatever they do, the home's own socket is served.

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

use super::seats::{Seat, Seats};
use super::told_to_leave;
use super::wire::Wire;
use crate::http::patient::Patient;

/// How long the head of a request may take, a connection may wait for its next one, and a handshake may last.
const HEAD: Duration = Duration::from_secs(10);
/// The longest head, and the most headers in it.
const LONGEST_HEAD: usize = 32 * 1024;
const MOST_HEADERS: usize = 64;
/// After so long without a word it is asked whether the other side is still there.
const SILENCE: Duration = Duration::from_secs(30);
/// The pause after no connection could be taken.
const PAUSE: Duration = Duration::from_millis(100);
/// What one too many is told.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
    Content-Type: text/plain\r\nContent-Length: 31\r\n\r\nthere are too many connections\n";

/// Serves until the daemon leaves; returns when every connection has ended.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    app: Router,
    seats: Arc<Seats>,
    patience: Option<Duration>,
    mut leaving: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = told_to_leave(&mut leaving) => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                if let Some((wire, seat)) = seat(&seats, stream, peer, tls.is_some()) {
                    let connection =
                        Connection { app: app.clone(), seat, leaving: leaving.clone() };
                    let wire = Patient::new(wire, patience);
                    connections.spawn(connection.serve(wire, tls.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "no connection can be taken over TCP");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// A seat for a connection, or a word that there is none.
fn seat(
    seats: &Arc<Seats>,
    stream: TcpStream,
    peer: SocketAddr,
    tls: bool,
) -> Option<(Wire, Arc<Seat>)> {
    let stream = Arc::new(stream);
    let Some(seat) = seats.take(&stream, peer) else {
        tracing::warn!("all connections over TCP are taken");
        if !tls {
            // It fits into the buffer of a new connection, or is not worth waiting for.
            stream.try_write(FULL).ok();
        }
        return None;
    };
    set_options(&stream);
    Some((Wire { stream, _seat: seat.clone() }, seat))
}

/// Without these answers are a little later, and one who went without a word is never missed.
fn set_options(stream: &TcpStream) {
    let set = || -> io::Result<()> {
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, SILENCE)?;
        sockopt::set_tcp_keepintvl(stream, SILENCE / 3)?;
        sockopt::set_tcp_keepcnt(stream, 3)?;
        Ok(())
    };
    if let Err(error) = set() {
        tracing::warn!(%error, "a connection over TCP can't be set up as it should");
    }
}

struct Connection {
    app: Router,
    seat: Arc<Seat>,
    leaving: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(self, wire: Patient<Wire>, tls: Option<TlsAcceptor>) {
        let Some(tls) = tls else { return self.speak(wire).await };
        match tokio::time::timeout(HEAD, tls.accept(wire)).await {
            Ok(Ok(stream)) => self.speak(stream).await,
            Ok(Err(error)) => tracing::debug!(%error, peer = %self.seat.peer, "no TLS"),
            Err(_) => tracing::debug!(peer = %self.seat.peer, "no TLS in time"),
        }
    }

    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let Self { app, seat, mut leaving } = self;
        let peer = seat.peer;
        let app = TowerToHyperService::new(app);
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(seat.clone());
            app.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(LONGEST_HEAD)
            .max_headers(MOST_HEADERS)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = told_to_leave(&mut leaving) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, %peer, "a connection over TCP has ended");
        }
    }
}

const _: () = assert!(FULL.len() < 1024, "it fits into any buffer");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_to_one_too_many_is_a_whole_answer() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    }
}

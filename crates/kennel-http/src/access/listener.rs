//! The listener over TCP: one task opens it, keeps it open, and closes it when the daemon shuts down.
//!
//! ```text
//! wanted (settings, or a command) ── bind ──┬── open ── until the daemon shuts down
//!    ^                                      └── failing, in the log and in `daemon status` ─┐
//!    └───────────────────────────── after a pause, or on a command ─────────────────────────┘
//! ```
//! An address that is not available does not keep a daemon from serving the socket in the home.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kennel_daemon::ApiError;
use kennel_types::api::{ListenState, ListenView};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;

use super::address_files::AddressFiles;
use super::guard::AccessGuard;
use super::host_names::HostNames;
use super::settings::{ListenError, ListenSettings};
use super::tls::{self, TlsError};
use super::token_store::TokenStoreError;
use super::{Access, shutdown_requested, tcp_server};
use crate::api::Api;

/// The port that is tried first if none is configured.
const DEFAULT_PORT: u16 = 7380;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A request to open the listener.
#[derive(Debug)]
pub(super) struct ListenCommand {
    pub(super) address: Option<SocketAddr>,
    pub(super) answer: oneshot::Sender<Result<ListenView, ApiError>>,
}

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListenTarget {
    address: SocketAddr,
    /// Whether a command named it, and not the settings.
    by_command: bool,
}

/// Why the listener can't be opened.
#[derive(Debug, thiserror::Error)]
enum OpenListenerError {
    #[error(transparent)]
    Settings(#[from] ListenError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("tokens: {0}")]
    Tokens(#[from] TokenStoreError),
    #[error("can't listen at {address}: {source}")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("{0}")]
    Unfinished(String),
}

impl From<OpenListenerError> for ApiError {
    fn from(error: OpenListenerError) -> Self {
        let in_use = matches!(
            &error,
            OpenListenerError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse
        );
        let api_error = match &error {
            OpenListenerError::Settings(_) => Self::invalid(error),
            OpenListenerError::Bind { .. } | OpenListenerError::Tls(_) => Self::busy(error),
            OpenListenerError::Tokens(_) | OpenListenerError::Unfinished(_) => {
                Self::internal(error)
            }
        };
        match in_use {
            true => {
                api_error.hint("another program uses this port; choose another one, or 0 for any")
            }
            false => api_error,
        }
    }
}

/// A listener that is open.
struct OpenListener {
    listener: TcpListener,
    names: Arc<HostNames>,
    tls: Option<TlsAcceptor>,
    view: ListenView,
}

/// Listens where that is wanted, until the daemon shuts down and every connection has ended.
pub(super) async fn run(
    api: Api,
    access: Access,
    mut commands: mpsc::Receiver<ListenCommand>,
    mut shutdown: watch::Receiver<bool>,
) {
    let task = ListenerTask { addresses: AddressFiles::new(access.folder()), access };
    let target = task.initial_target().await;
    let mut pause = FIRST_PAUSE;
    let open = loop {
        if let Some(target) = target {
            match task.open(target).await {
                Ok(open) => break open,
                Err(error) => task.report_failure(target, &error),
            }
        }
        tokio::select! {
            () = shutdown_requested(&mut shutdown) => return,
            command = commands.recv() => {
                let Some(ListenCommand { address, answer }) = command else { return };
                match task.open_by_command(address, target).await {
                    Ok(open) => {
                        answer.send(Ok(open.view.clone())).ok();
                        break open;
                    }
                    // Only the client that sent the command tries again.
                    Err(error) => {
                        answer.send(Err(error.into())).ok();
                    }
                }
            }
            () = tokio::time::sleep(pause), if target.is_some() => {
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    };
    let OpenListener { listener, names, tls, view } = open;
    let guard = AccessGuard { access: task.access.clone(), names };
    let write_timeout = api.streams.write_timeout;
    let app = api.tcp_routes(guard);
    let connections = task.access.0.connections.clone();
    let serve = tcp_server::serve(listener, tls, app, connections, write_timeout, shutdown);
    tokio::pin!(serve);
    loop {
        tokio::select! {
            () = &mut serve => return,
            Some(ListenCommand { address, answer }) = commands.recv() => {
                answer.send(already_open(&view, address)).ok();
            }
        }
    }
}

/// Succeeds if the listener is open at the wanted address.
fn already_open(view: &ListenView, wanted: Option<SocketAddr>) -> Result<ListenView, ApiError> {
    let here = view.address.parse::<SocketAddr>().ok();
    let same = |wanted: SocketAddr| {
        here.is_some_and(|here| {
            here.ip() == wanted.ip() && [0, here.port()].contains(&wanted.port())
        })
    };
    match wanted {
        Some(wanted) if !same(wanted) => {
            let text = format!("the API is already served at {}", view.address);
            Err(ApiError::conflict(text).hint(
                "`kennel daemon restart --listen ADDRESS` moves it; sessions continue to run",
            ))
        }
        _ => Ok(view.clone()),
    }
}

struct ListenerTask {
    access: Access,
    addresses: AddressFiles,
}

impl ListenerTask {
    fn settings(&self) -> &ListenSettings {
        self.access.settings()
    }

    /// The address in the settings, or the one that a command gave to a former daemon.
    async fn initial_target(&self) -> Option<ListenTarget> {
        if let Some(address) = self.settings().listen {
            return Some(ListenTarget { address, by_command: false });
        }
        let (addresses, rebooted) = (self.addresses.clone(), self.access.0.setup.rebooted);
        let requested = spawn_blocking(move || match addresses.requested() {
            Some(address) if !rebooted => Some(address),
            _ => {
                addresses.remove();
                None
            }
        });
        let requested = requested.await.unwrap_or_default();
        requested.map(|address| ListenTarget { address, by_command: true })
    }

    fn report_failure(&self, target: ListenTarget, error: &OpenListenerError) {
        let why = error.to_string();
        let view = ListenView {
            state: ListenState::Failing,
            url: HostNames::new(target.address, self.settings().tls_cert.is_some(), &[]).url(),
            address: target.address.to_string(),
            why: Some(why.clone()),
        };
        // It is retried for ever, but logged once.
        if self.access.set_view(view).and_then(|before| before.why) != Some(why.clone()) {
            tracing::error!(%why, "can't serve the API over TCP; retrying");
        }
    }

    /// Opens it at this address; without one as before, or else at a port of loopback.
    async fn open_by_command(
        &self,
        address: Option<SocketAddr>,
        before: Option<ListenTarget>,
    ) -> Result<OpenListener, OpenListenerError> {
        if let Some(address) = address {
            let by_command = self.settings().listen != Some(address);
            return self.open(ListenTarget { address, by_command }).await;
        }
        if let Some(target) = before {
            return self.open(target).await;
        }
        let at =
            |port| ListenTarget { address: (Ipv4Addr::LOCALHOST, port).into(), by_command: true };
        match self.open(at(DEFAULT_PORT)).await {
            Err(OpenListenerError::Bind { .. }) => self.open(at(0)).await,
            other => other,
        }
    }

    async fn open(&self, target: ListenTarget) -> Result<OpenListener, OpenListenerError> {
        self.settings().check_at(target.address)?;
        let files = self.settings().tls_cert.clone().zip(self.settings().tls_key.clone());
        let tls = spawn_blocking(move || files.map(|(cert, key)| tls::acceptor(&cert, &key)));
        let tls = tls.await.map_err(|error| OpenListenerError::Unfinished(error.to_string()))?;
        let tls = tls.transpose()?;
        // Clients need a token, and programs look for its file.
        self.access.issue(|store| store.main()).await?;
        let bind_error = |source| OpenListenerError::Bind { address: target.address, source };
        let listener = self.bind(target.address).await.map_err(bind_error)?;
        let address = listener.local_addr().map_err(bind_error)?;
        let names = Arc::new(HostNames::new(address, tls.is_some(), &self.settings().names));
        let view = ListenView {
            state: ListenState::Open,
            address: address.to_string(),
            url: names.url(),
            why: None,
        };
        let addresses = self.addresses.clone();
        let written = spawn_blocking(move || addresses.write(address, target.by_command)).await;
        if let Err(error) = written.unwrap_or_else(|error| Err(io::Error::other(error))) {
            tracing::warn!(%error, "can't write the address to a file");
        }
        tracing::info!(%address, tls = tls.is_some(), "serving the API over TCP");
        self.access.set_view(view.clone());
        Ok(OpenListener { listener, names, tls, view })
    }

    /// If any port will do, prefers the last one, so that bookmarks stay valid.
    async fn bind(&self, address: SocketAddr) -> io::Result<TcpListener> {
        if address.port() == 0 {
            let addresses = self.addresses.clone();
            let last = spawn_blocking(move || addresses.last()).await.unwrap_or_default();
            if let Some(last) = last.filter(|last| last.ip() == address.ip())
                && let Ok(listener) = TcpListener::bind(last).await
            {
                return Ok(listener);
            }
        }
        TcpListener::bind(address).await
    }
}

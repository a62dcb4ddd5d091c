//! The TCP listener. One task opens it, keeps it open, and closes it when the daemon shuts down.
//!
//! ```text
//! wanted (settings, or a command) ── bind ──┬── open ── until the daemon shuts down
//!    ^                                      └── failing, in the log and in `daemon status` ─┐
//!    └───────────────────────────── after a pause, or on a command ─────────────────────────┘
//! ```
//! If the address is not available, the daemon still serves its Unix socket.

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
use super::settings::ListenSettings;
use super::{Access, shutdown_requested, tcp_server, tls};
use crate::api::Api;

/// The first port to try if none is configured.
const DEFAULT_PORT: u16 = 7380;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct ListenCommand {
    pub(super) address: Option<SocketAddr>,
    pub(super) answer: oneshot::Sender<Result<ListenView, ApiError>>,
}

/// The addresses to listen at: the first one that is available.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ListenTarget {
    addresses: Vec<SocketAddr>,
    /// Whether a command requested it, and not the settings.
    by_command: bool,
}

struct OpenListener {
    listener: TcpListener,
    names: Arc<HostNames>,
    tls: Option<TlsAcceptor>,
    view: ListenView,
}

/// Listens at the requested address until the daemon shuts down and every connection has ended.
pub(super) async fn run(
    api: Api,
    access: Access,
    mut commands: mpsc::Receiver<ListenCommand>,
    mut shutdown: watch::Receiver<bool>,
) {
    let task = ListenerTask { addresses: AddressFiles::new(&access.0.folder), access };
    let target = task.initial_target().await;
    let mut pause = FIRST_PAUSE;
    let open = loop {
        if let Some(target) = &target {
            match task.open(target).await {
                Ok(open) => break open,
                Err(error) => task.report_failure(target, &error),
            }
        }
        tokio::select! {
            () = shutdown_requested(&mut shutdown) => return,
            command = commands.recv() => {
                let Some(ListenCommand { address, answer }) = command else { return };
                let opened = task.open(&task.requested_target(address, target.as_ref())).await;
                // After an error, only the client that sent the command may retry.
                answer.send(opened.as_ref().map(|open| open.view.clone()).map_err(Clone::clone)).ok();
                if let Ok(open) = opened {
                    break open;
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

/// Succeeds if the listener is already open at the requested address.
fn already_open(view: &ListenView, wanted: Option<SocketAddr>) -> Result<ListenView, ApiError> {
    let here = view.address.parse::<SocketAddr>().ok();
    let same = |wanted: SocketAddr| {
        here.is_some_and(|here| {
            here.ip() == wanted.ip() && [0, here.port()].contains(&wanted.port())
        })
    };
    match wanted {
        Some(wanted) if !same(wanted) => {
            let text = format!("the API is already served at {}, not at {wanted}", view.address);
            Err(ApiError::conflict(text)
                .hint("`kennel daemon restart --listen ADDRESS` moves it; sessions keep running"))
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
        &self.access.0.settings
    }

    /// Returns the address in the settings, or the one that a command requested from a previous daemon.
    async fn initial_target(&self) -> Option<ListenTarget> {
        if let Some(address) = self.settings().listen {
            return Some(ListenTarget { addresses: vec![address], by_command: false });
        }
        let (addresses, rebooted) = (self.addresses.clone(), self.access.0.rebooted);
        let requested = spawn_blocking(move || match addresses.requested() {
            Some(address) if !rebooted => Some(address),
            _ => {
                addresses.remove();
                None
            }
        });
        let address = requested.await.unwrap_or_default()?;
        Some(ListenTarget { addresses: vec![address], by_command: true })
    }

    /// Returns the address that a command requests. By default, the previous one, or else a loopback port.
    fn requested_target(
        &self,
        address: Option<SocketAddr>,
        before: Option<&ListenTarget>,
    ) -> ListenTarget {
        match (address, before) {
            (Some(address), _) => {
                let by_command = self.settings().listen != Some(address);
                ListenTarget { addresses: vec![address], by_command }
            }
            (None, Some(target)) => target.clone(),
            (None, None) => {
                let addresses = [DEFAULT_PORT, 0].map(|port| (Ipv4Addr::LOCALHOST, port).into());
                ListenTarget { addresses: addresses.into(), by_command: true }
            }
        }
    }

    fn report_failure(&self, target: &ListenTarget, error: &ApiError) {
        let Some(address) = target.addresses.first() else { return };
        let why = Some(error.problem().detail);
        let view = ListenView {
            state: ListenState::Failing,
            url: HostNames::new(*address, self.settings().tls_cert.is_some(), &[]).url(),
            address: address.to_string(),
            why: why.clone(),
        };
        // The task retries forever, but logs an error only once.
        if self.access.set_view(view).and_then(|before| before.why) != why {
            tracing::error!(why, "can't serve the API over TCP; retrying");
        }
    }

    async fn open(&self, target: &ListenTarget) -> Result<OpenListener, ApiError> {
        for address in &target.addresses {
            self.settings().check_at(*address).map_err(ApiError::invalid)?;
        }
        let files = self.settings().tls_cert.clone().zip(self.settings().tls_key.clone());
        let tls = spawn_blocking(move || files.map(|(cert, key)| tls::acceptor(&cert, &key)));
        let tls = tls.await.map_err(ApiError::internal)?.transpose().map_err(ApiError::busy)?;
        // Clients need a token, and programs read it from its file.
        let issued = self.access.issue(|store| store.main()).await;
        issued.map_err(|error| ApiError::internal(format!("tokens: {error}")))?;
        let listener = self.bind(&target.addresses).await?;
        let address = listener.local_addr().map_err(ApiError::internal)?;
        let names = Arc::new(HostNames::new(address, tls.is_some(), &self.settings().names));
        let view = ListenView {
            state: ListenState::Open,
            address: address.to_string(),
            url: names.url(),
            why: None,
        };
        let (addresses, by_command) = (self.addresses.clone(), target.by_command);
        let written = spawn_blocking(move || addresses.write(address, by_command)).await;
        if let Err(error) = written.unwrap_or_else(|error| Err(io::Error::other(error))) {
            tracing::warn!(%error, "can't write the address to a file");
        }
        tracing::info!(%address, tls = tls.is_some(), "serving the API over TCP");
        self.access.set_view(view.clone());
        Ok(OpenListener { listener, names, tls, view })
    }

    /// If any port is acceptable, prefers the previous one, so that bookmarks stay valid.
    async fn bind(&self, addresses: &[SocketAddr]) -> Result<TcpListener, ApiError> {
        let files = self.addresses.clone();
        let last = spawn_blocking(move || files.last()).await.unwrap_or_default();
        let with_last = |address: &SocketAddr| {
            let last = last.filter(|last| address.port() == 0 && last.ip() == address.ip());
            last.into_iter().chain([*address])
        };
        let candidates: Vec<_> = addresses.iter().flat_map(with_last).collect();
        TcpListener::bind(&candidates[..]).await.map_err(|error| bind_error(addresses, &error))
    }
}

fn bind_error(addresses: &[SocketAddr], error: &io::Error) -> ApiError {
    let address = addresses.last().map(ToString::to_string).unwrap_or_default();
    let failed = ApiError::busy(format!("can't listen at {address}: {error}"));
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            failed.hint("another program uses this port; choose another one, or 0 for any")
        }
        _ => failed,
    }
}

//! Access over TCP: programs authenticate with a token, browsers with a one-time sign-in link.
//!
//! ```text
//! TCP ── connections ──(TLS)── request head ── guard ──┬── routes, with an Identity
//!                          host_names, authorization ──┘   sign_in: /login, the dashboard
//! ```
//! The Unix socket needs none of this, because the kernel identifies its clients.
//!
//! | files | |
//! |---|---|
//! | `authorization`, `host_names`, `tokens`, `sign_in_links`, `throttle`, `settings` | decide; no clock, no I/O |
//! | `token_store`, `private_file`, `address_files`, `secret` | files in the home |
//! | `listener`, `tcp_server`, `connections`, `tls` | connections |
//! | `guard`, `sign_in`, `html_page`, `dashboard`, `endpoints`, `identity` | requests |

mod address_files;
mod authorization;
mod connections;
mod dashboard;
mod endpoints;
mod guard;
mod host_names;
mod html_page;
mod identity;
mod listener;
mod private_file;
mod secret;
mod settings;
mod sign_in;
mod sign_in_links;
mod tcp_server;
mod throttle;
mod tls;
mod token_store;
mod tokens;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::extract::Request;
use kennel_daemon::{ApiError, ServerSetup};
use kennel_types::api::{ListenView, Scope};
use kennel_web::Site;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_blocking;

use self::address_files::AddressFiles;
use self::connections::{ConnectionLimits, TcpConnections};
use self::guard::AccessGuard;
use self::listener::ListenCommand;
use self::secret::Secret;
use self::sign_in_links::SignInLinks;
use self::throttle::Throttle;
use self::token_store::{IssuedToken, TokenStore, TokenStoreError};
use crate::api::Api;

pub(crate) use endpoints::endpoints;
pub(crate) use identity::{Identity, socket_only};
pub use settings::{ListenError, ListenSettings};

/// Access over TCP. Clones share the same state.
#[derive(Debug, Clone)]
pub(crate) struct Access(Arc<AccessState>);

#[derive(Debug)]
struct AccessState {
    settings: ListenSettings,
    folder: PathBuf,
    version: String,
    /// Whether the machine was booted since the last daemon.
    rebooted: bool,
    site: Site,
    store: Arc<TokenStore>,
    links: Mutex<SignInLinks>,
    throttle: Mutex<Throttle>,
    connections: Arc<TcpConnections>,
    commands: mpsc::Sender<ListenCommand>,
    command_receiver: Mutex<Option<mpsc::Receiver<ListenCommand>>>,
    listen: Mutex<Option<ListenView>>,
}

impl Access {
    pub(crate) fn new(settings: ListenSettings, site: Site, setup: &ServerSetup) -> Self {
        let (commands, receiver) = mpsc::channel(1);
        let folder = setup.daemon.home().to_owned();
        let total = setup.max_connections;
        let limits = ConnectionLimits { total, unauthenticated: total / 4, per_token: total / 2 };
        Self(Arc::new(AccessState {
            store: Arc::new(TokenStore::new(&folder)),
            links: Mutex::default(),
            throttle: Mutex::default(),
            connections: TcpConnections::new(limits),
            commands,
            command_receiver: Mutex::new(Some(receiver)),
            listen: Mutex::default(),
            settings,
            folder,
            version: setup.version.clone(),
            rebooted: setup.rebooted,
            site,
        }))
    }

    /// Returns the TCP listener, if there is one.
    pub(crate) fn view(&self) -> Option<ListenView> {
        lock(&self.0.listen).clone()
    }

    pub(crate) fn forget_addresses(&self) {
        AddressFiles::new(&self.0.folder).remove();
    }

    fn set_view(&self, view: ListenView) -> Option<ListenView> {
        lock(&self.0.listen).replace(view)
    }

    fn links(&self) -> MutexGuard<'_, SignInLinks> {
        lock(&self.0.links)
    }

    /// Runs a function on the token store, which may block.
    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TokenStore) -> Result<T, TokenStoreError> + Send + 'static,
    ) -> Result<T, TokenStoreError> {
        let store = self.0.store.clone();
        let done = spawn_blocking(move || work(&store)).await;
        done.unwrap_or_else(|error| Err(TokenStoreError::Unfinished(error.to_string())))
    }

    /// Issues a token and cuts the connections of the tokens that it replaces. Returns how many. Does both even if the
    /// client disconnects in the meantime.
    async fn issue(
        &self,
        issue: impl FnOnce(&TokenStore) -> Result<IssuedToken, TokenStoreError> + Send + 'static,
    ) -> Result<(IssuedToken, u64), TokenStoreError> {
        let connections = self.0.connections.clone();
        self.with_store(move |store| {
            let issued = issue(store)?;
            let cut = connections.cut(&issued.revoked, None);
            Ok((issued, cut))
        })
        .await
    }

    fn create_link(&self, scope: Scope) -> Result<Secret, ApiError> {
        let secret = Secret::random().map_err(ApiError::internal)?;
        self.links().add(secret.hash(), scope, Instant::now());
        Ok(secret)
    }

    async fn listen(&self, address: Option<SocketAddr>) -> Result<ListenView, ApiError> {
        let (answer, answered) = oneshot::channel();
        let sent = self.0.commands.send(ListenCommand { address, answer }).await;
        sent.map_err(|_| ApiError::gone())?;
        answered.await.unwrap_or_else(|_| Err(ApiError::gone()))
    }
}

impl Api {
    /// Serves the API over TCP, if it is requested, until the daemon shuts down.
    pub(crate) async fn serve_tcp(self) {
        let access = self.access.clone();
        let shutdown = self.daemon.shutdown_signal();
        let Some(commands) = lock(&access.0.command_receiver).take() else { return };
        listener::run(self, access, commands, shutdown).await;
    }

    /// Returns all routes, behind the guard.
    fn tcp_routes(self, guard: AccessGuard) -> Router {
        let pages = guard.clone();
        let fallback = move |request: Request| sign_in::fallback(pages.clone(), request);
        let layer = axum::middleware::from_fn_with_state(guard.clone(), guard::guard);
        self.routes(fallback).merge(sign_in::routes(guard)).layer(layer)
    }
}

async fn shutdown_requested(shutdown: &mut watch::Receiver<bool>) {
    // A dropped sender means the same.
    drop(shutdown.wait_for(|shutdown| *shutdown).await);
}

/// Locks a value that no panic can leave half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Serves a daemon's API, JSON over HTTP: on the Unix socket in the home, which only its owner can open, and over TCP for
//! clients with a token. Also serves the dashboard.
//!
//! ```text
//! Unix socket ──> OwnerOnlyListener ────────────────────────┐
//! TCP ──> access: TLS, connection limits, authorization ────┴──> routes ──> DaemonHandle
//! ```
//! Routes and the OpenAPI document are generated from one list (`endpoints`).

mod access;
mod answer;
mod api;
mod endpoint;
mod endpoints;
mod error;
mod events;
mod extract;
mod handlers;
mod observe;
mod openapi;
mod output;
mod stream;
mod terminal;
mod unix_listener;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use kennel_daemon::{ApiServer, CreateServer, ExitReason, ServerTask};
use tokio::net::UnixListener;

use api::Api;
use unix_listener::{OwnerOnlyListener, Peer};

pub use access::{ListenError, ListenSettings};
#[cfg(feature = "schema")]
pub use openapi::document::document as openapi_document;

/// How the API is served.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Where and how the API is served over TCP.
    pub listen: ListenSettings,
    /// The command that examines the machine and prints its findings as JSON. Without it, the endpoint returns 404.
    pub doctor: Vec<OsString>,
    /// How long a client may leave a response unread before its connection is closed. Zero: forever.
    pub write_timeout: Duration,
    /// A folder with the dashboard's files, for its developers. `None`: the built-in files.
    pub web: Option<PathBuf>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        let write_timeout = Duration::from_secs(60);
        Self { listen: ListenSettings::default(), doctor: Vec::new(), write_timeout, web: None }
    }
}

/// Returns a server with this configuration, for [`kennel_daemon::serve`].
#[must_use]
pub fn server(config: HttpConfig) -> CreateServer {
    Box::new(move |setup| Box::new(HttpServer(Api::new(config, setup))))
}

struct HttpServer(Api);

impl ApiServer for HttpServer {
    fn serve_socket(&self, listener: UnixListener, stop: ServerTask) -> ServerTask {
        let write_timeout = self.0.streams.write_timeout;
        let listener = OwnerOnlyListener { listener, write_timeout };
        let routes =
            self.0.clone().routes(api::not_found).into_make_service_with_connect_info::<Peer>();
        let serving = axum::serve(listener, routes).with_graceful_shutdown(stop);
        Box::pin(async move {
            if let Err(error) = serving.await {
                tracing::error!(%error, "can't serve the API on its Unix socket");
            }
        })
    }

    fn serve_tcp(&self) -> ServerTask {
        Box::pin(self.0.clone().serve_tcp())
    }

    fn all_detached(&self) -> ServerTask {
        let api = self.0.clone();
        Box::pin(async move { api.streams.all_detached().await })
    }

    fn clean_up(&self, reason: ExitReason) {
        if matches!(reason, ExitReason::Stopped | ExitReason::Kept) {
            self.0.access.forget_addresses();
        }
    }
}

//! The API: JSON over HTTP at a socket that is the owner's alone, and over TCP for those who have a token.

mod access;
mod adopt;
mod answer;
mod ask;
mod body;
mod daemon;
pub(crate) mod description;
mod endpoint;
mod endpoints;
mod event_stream;
mod events;
mod feed;
mod input;
mod listener;
mod live;
mod members;
mod observe;
mod output;
mod patient;
mod plans;
mod pull;
mod pulse;
mod report;
mod resume;
mod sessions;
mod socket;
mod sse;
mod stray;
mod stream;
mod terminal;
mod worktrees;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use kennel_register::Register;
use tokio::sync::{oneshot, watch};

use crate::error::{ApiError, ApiErrorKind};
use crate::launch::stdin_handoff::StdinHandoff;
use crate::os::home::Home;
use crate::owner::message::{Answer, Bus, Command, Message};

pub(crate) use access::{Access, Beginning as AccessBeginning, forget_addresses, most_connections};
pub use access::{ListenError, ListenSettings};
pub(crate) use listener::OwnerOnly;
pub(crate) use live::Live;
pub(crate) use observe::Instruments;
pub(crate) use report::Peer;

/// The longest body: an environment may be large, and so may a prompt.
const BODY: usize = 16 << 20;

/// What every request may need.
#[derive(Debug, Clone)]
pub(crate) struct Api(Arc<Shared>);

/// See [`Api`].
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) bus: Bus,
    pub(crate) register: Register,
    pub(crate) deposit: StdinHandoff,
    pub(crate) home: Home,
    pub(crate) instruments: Instruments,
    /// What those share who look on while something happens.
    pub(crate) live: Live,
    pub(crate) access: Access,
    /// Becomes true when the daemon leaves: what would go on for ever ends then.
    pub(crate) leaving: watch::Receiver<bool>,
}

impl Api {
    pub(crate) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// Asks the owner of the state.
    async fn ask<T>(&self, command: impl FnOnce(Answer<T>) -> Command) -> Result<T, ApiError> {
        let (answer, answered) = oneshot::channel();
        let sent = self.0.bus.send(Message::Command(command(answer)));
        sent.map_err(|_| ApiError::gone())?;
        answered.await.unwrap_or_else(|_| Err(ApiError::gone()))
    }

    /// Comes when nobody is in front of a session any more.
    pub(crate) async fn all_detached(&self) {
        self.0.live.all_detached().await;
    }

    /// How long a client that does not read is waited for; none: for ever.
    pub(crate) fn patience(&self) -> Option<std::time::Duration> {
        self.0.live.patience
    }

    /// All routes, for the home's socket.
    pub(crate) fn socket_routes(self) -> Router {
        self.routes(nothing_here)
    }

    /// All routes; `elsewhere` is what is at none of them.
    fn routes<T: 'static>(self, elsewhere: impl Handler<T, Self>) -> Router {
        endpoint::router(endpoints::all(), &self)
            .fallback(elsewhere)
            .method_not_allowed_fallback(not_this_way)
            .layer(DefaultBodyLimit::max(BODY))
            .layer(map_response(as_problem))
            .with_state(self)
    }
}

/// What is said at the home's socket where there is nothing.
async fn nothing_here() -> Response {
    ApiError::new(ApiErrorKind::NotFound, "there is nothing at this path").into_response()
}

async fn not_this_way() -> Response {
    ApiError::new(ApiErrorKind::Method, "this path does not know this method").into_response()
}

/// What the framework refuses by itself is told as we would tell it.
async fn as_problem(response: Response) -> Response {
    /// It says a sentence.
    const LONGEST: usize = 4096;
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_text = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !(status.is_client_error() || status.is_server_error()) || !is_text {
        return response;
    }
    let kind = match status {
        StatusCode::NOT_FOUND => ApiErrorKind::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => ApiErrorKind::Method,
        StatusCode::PAYLOAD_TOO_LARGE => ApiErrorKind::TooLarge,
        status if status.is_client_error() => ApiErrorKind::Malformed,
        _ => ApiErrorKind::Internal,
    };
    let said = axum::body::to_bytes(response.into_body(), LONGEST).await.unwrap_or_default();
    let said = match String::from_utf8_lossy(&said) {
        empty if empty.is_empty() => "the request can't be read".into(),
        said => said,
    };
    ApiError::new(kind, said).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routes_fit_together() {
        let home = tempfile::tempdir().unwrap();
        let id = kennel_pen::HomeId::random().unwrap();
        let opened = Register::open(&home.path().join("register.db"), id.as_str()).unwrap();
        let (bus, _messages) = tokio::sync::mpsc::unbounded_channel();
        let (_leave, leaving) = watch::channel(false);
        let home = Home { folder: home.path().to_owned(), id };
        let (deposit, live) = (StdinHandoff::default(), Live::new(std::time::Duration::ZERO));
        let register = opened.register.clone();
        // It panics if two are in each other's way.
        let instruments = Instruments::new(Arc::default(), Vec::new(), leaving.clone());
        let access = Access::new(AccessBeginning::default());
        let shared = Shared { bus, register, deposit, home, instruments, live, access, leaving };
        let routes = Api::new(shared).socket_routes();
        drop(routes);
        opened.register.close();
    }
}

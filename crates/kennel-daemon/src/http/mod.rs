//! The API: JSON over HTTP at a socket that is the owner's alone, and over TCP for those who have a token.

mod access;
mod adopt;
mod body;
mod daemon;
mod events;
mod input;
mod listener;
mod members;
mod plans;
mod report;
mod resume;
mod sessions;
mod stray;
mod stream;
mod worktrees;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use tokio::sync::{oneshot, watch};

use crate::deposit::Deposit;
use crate::home::Home;
use crate::message::{Answer, Bus, Command, Message};
use crate::refused::{Refused, RefusedKind};
use crate::register::Register;

pub(crate) use access::{Access, Beginning as AccessBeginning, forget_addresses, most_connections};
pub use access::{ListenError, ListenSettings};
pub(crate) use listener::OwnerOnly;
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
    pub(crate) deposit: Deposit,
    pub(crate) home: Home,
    pub(crate) access: Access,
    /// Becomes true when the daemon leaves: what would go on for ever ends then.
    pub(crate) leaving: watch::Receiver<bool>,
}

impl Api {
    pub(crate) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// Asks the owner of the state.
    async fn ask<T>(&self, command: impl FnOnce(Answer<T>) -> Command) -> Result<T, Refused> {
        let (answer, answered) = oneshot::channel();
        let sent = self.0.bus.send(Message::Command(command(answer)));
        sent.map_err(|_| Refused::gone())?;
        answered.await.unwrap_or_else(|_| Err(Refused::gone()))
    }

    /// All routes.
    pub(crate) fn routes(self) -> Router {
        let session = "/v1/sessions/{reference}";
        let of = |what: &str| format!("{session}/{what}");
        Router::new()
            .route("/v1/daemon", get(daemon::show))
            .route("/v1/daemon/stop", post(daemon::stop))
            .route("/v1/daemon/replace", post(daemon::replace))
            .route("/v1/sessions", get(sessions::list).post(sessions::create))
            .route(session, get(sessions::show).delete(sessions::remove))
            .route(&of("inspect"), get(sessions::inspect))
            .route(&of("wait"), get(sessions::wait))
            .route(&of("stop"), post(sessions::stop))
            .route(&of("resume"), post(resume::resume))
            .route(&of("forget"), post(sessions::forget))
            .route(&of("signal"), post(input::signal))
            .route(&of("input"), post(input::input))
            .route("/v1/members", get(members::list).post(members::add))
            .route("/v1/members/{name}", get(members::show).delete(members::remove))
            .route("/v1/plans", get(plans::list).post(plans::run))
            .route("/v1/plans/{reference}", get(plans::show))
            .route("/v1/plans/{reference}/wait", get(plans::wait))
            .route("/v1/plans/{reference}/cancel", post(plans::cancel))
            .route("/v1/plans/{reference}/resume", post(plans::resume))
            .route("/v1/adopt", post(adopt::adopt))
            .route("/v1/report", post(report::report))
            .route("/v1/prune", get(sessions::would_prune).post(sessions::prune))
            .route("/v1/strays", get(stray::find))
            .route("/v1/strays/end", post(stray::end))
            .route("/v1/events", get(events::events))
            .route("/v1/worktrees", get(worktrees::list))
            .route("/v1/worktrees/{reference}", delete(worktrees::remove))
            .route("/v1/worktrees/{reference}/losses", get(worktrees::losses))
            .merge(access::routes())
            .fallback(nothing_here)
            .method_not_allowed_fallback(not_this_way)
            .layer(DefaultBodyLimit::max(BODY))
            .with_state(self)
    }
}

async fn nothing_here() -> Response {
    Refused::new(RefusedKind::NotFound, "there is nothing at this path").into_response()
}

async fn not_this_way() -> Response {
    Refused::invalid("this path does not know this method").into_response()
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
        let deposit = Deposit::default();
        let register = opened.register.clone();
        // It panics if two are in each other's way.
        let access = Access::new(AccessBeginning::default());
        let routes = Api::new(Shared { bus, register, deposit, home, access, leaving }).routes();
        drop(routes);
        opened.register.close();
    }
}

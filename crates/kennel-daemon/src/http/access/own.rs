//! What somebody may know of their own access, and that a browser may give it up.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, SET_COOKIE};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use kennel_types::api::{MeView, TokenKind, WayIn};

use super::identity::{Identity, Via};
use super::names::Names;
use super::seats::Seat;
use crate::error::ApiError;
use crate::http::Api;
use crate::http::endpoint::{Endpoint, get, post};

/// Where a browser is logged out; also one that may only look.
pub(super) const LOGOUT: &str = "/v1/access/logout";

/// Their places.
pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/v1/access/me", me, ("getMe", "Who asks, what they may do, and of which home"))
            .answer::<MeView>(200),
        post(LOGOUT, logout, ("logOut", "Logs a browser out: its cookie is void")),
    ]
}

async fn me(State(api): State<Api>, identity: Identity) -> Json<MeView> {
    let (via, name) = match identity.via {
        Via::Socket => (WayIn::Socket, None),
        Via::Tcp { kind: TokenKind::Browser, name, .. } => (WayIn::Browser, Some(name)),
        Via::Tcp { name, .. } => (WayIn::Token, Some(name)),
    };
    Json(MeView {
        scope: identity.scope,
        via,
        name,
        home: api.0.home.folder.display().to_string(),
        version: api.access().version().to_owned(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
    })
}

/// All its connections are cut; the one that asks, after the answer.
async fn logout(
    State(api): State<Api>,
    identity: Identity,
    names: Option<Extension<Arc<Names>>>,
    seat: Option<Extension<Arc<Seat>>>,
) -> Result<Response, ApiError> {
    let (
        Via::Tcp { kind: TokenKind::Browser, id, name },
        Some(Extension(names)),
        Some(Extension(seat)),
    ) = (identity.via, names, seat)
    else {
        let refused = ApiError::conflict("only a browser can be logged out");
        return Err(refused.hint("`kennel token revoke` makes a token void"));
    };
    let seats = api.access().seats();
    let saved = api.access().change(move |store| {
        let saved = store.put_out(id);
        let cut = seats.cut_but(&[id], &seat);
        tracing::info!(name, cut, "a browser has logged out");
        saved
    });
    saved.await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(CONNECTION, axum::http::HeaderValue::from_static("close"));
    if let Ok(cookie) = names.set_cookie("", 0).parse() {
        headers.insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

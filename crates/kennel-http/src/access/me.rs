//! What a client can learn about its own access; also signs a browser out.

use std::sync::Arc;

use axum::http::header::{CONNECTION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use kennel_daemon::ApiError;
use kennel_types::api::{AccessMethod, MeView, TokenKind};

use super::connections::TcpConnection;
use super::host_names::HostNames;
use super::identity::{Credential, Identity};
use crate::api::Api;
use crate::endpoint::{Endpoint, get, post};
use crate::error::HandlerResult;

/// Signs a browser out; also a read-only one.
pub(super) const LOGOUT: &str = "/v1/access/logout";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/v1/access/me", "getMe", me)
            .answer::<MeView>("Shows the client's own identity, scope and home"),
        post(LOGOUT, "logOut", sign_out).empty("Signs a browser out: revokes its cookie"),
    ]
}

async fn me(api: Api, identity: Identity) -> Json<MeView> {
    let (via, name) = match identity.credential {
        Credential::Socket => (AccessMethod::Socket, None),
        Credential::Token { kind: TokenKind::Browser, name, .. } => {
            (AccessMethod::Browser, Some(name))
        }
        Credential::Token { name, .. } => (AccessMethod::Token, Some(name)),
    };
    Json(MeView {
        scope: identity.scope,
        via,
        name,
        home: api.daemon.home().display().to_string(),
        version: api.access.0.version.clone(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
    })
}

/// Cuts all connections of the browser; the one of this request after its response.
async fn sign_out(
    api: Api,
    identity: Identity,
    names: Option<Extension<Arc<HostNames>>>,
    connection: Option<Extension<Arc<TcpConnection>>>,
) -> HandlerResult<Response> {
    let (
        Credential::Token { kind: TokenKind::Browser, id, name },
        Some(Extension(names)),
        Some(Extension(connection)),
    ) = (identity.credential, names, connection)
    else {
        let error = ApiError::conflict("only a browser can sign out");
        return Err(error.hint("`kennel token revoke` revokes a token").into());
    };
    let connections = api.access.0.connections.clone();
    let saved = api.access.with_store(move |store| {
        let saved = store.revoke_id(id);
        let cut = connections.cut_others(&[id], &connection);
        tracing::info!(name, cut, "a browser signed out");
        saved
    });
    saved.await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if let Ok(cookie) = names.set_cookie("", 0).parse() {
        headers.insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

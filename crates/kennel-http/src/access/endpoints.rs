//! Endpoints for access: a client's own identity, and the listener, tokens and sign-in links. The latter are managed only
//! on the Unix socket, because a token must not create tokens.

use std::sync::Arc;

use axum::extract::Path;
use axum::http::header::{CONNECTION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use kennel_daemon::{ApiError, clock};
use kennel_types::api::{
    AccessMethod, CreateTokenRequest, LinkRequest, LinkView, ListenRequest, ListenView, MeView,
    RevokeResponse, SecretView, TokenKind, TokenView,
};

use super::connections::TcpConnection;
use super::host_names::HostNames;
use super::identity::{Credential, Identity};
use super::sign_in_links;
use super::token_store::IssuedToken;
use super::tokens::{MAIN, TokenEntry};
use crate::api::Api;
use crate::endpoint::{Endpoint, delete, get, post};
use crate::error::{CreatedResult, HandlerResult, JsonResult};
use crate::extract::JsonBody;

/// The path that signs a browser out. A read-only browser may use it, too.
pub(super) const LOGOUT: &str = "/v1/access/logout";

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/v1/access/me", "getMe", me)
            .answer::<MeView>("Shows the client's own identity, scope and home"),
        post(LOGOUT, "logOut", sign_out).empty("Signs a browser out and revokes its cookie"),
        post("/v1/access/listen", "listen", listen)
            .body::<ListenRequest>()
            .answer::<ListenView>("Serves the API over TCP as well (Unix socket only)"),
        post("/v1/access/links", "makeLink", link)
            .body::<LinkRequest>()
            .answer::<LinkView>("Creates a one-time sign-in link for a browser (Unix socket only)"),
        get("/v1/access/token", "getToken", show)
            .answer::<SecretView>("Shows the main token (Unix socket only)"),
        get("/v1/access/tokens", "listTokens", list)
            .answer::<Vec<TokenView>>("Lists tokens without their secrets (Unix socket only)"),
        post("/v1/access/tokens", "addToken", add)
            .body::<CreateTokenRequest>()
            .created::<SecretView>("Creates a token (Unix socket only)"),
        delete("/v1/access/tokens/{name}", "revokeToken", revoke).answer::<RevokeResponse>(
            "Revokes a token and closes its connections (Unix socket only)",
        ),
        post("/v1/access/tokens/{name}/rotate", "rotateToken", rotate)
            .answer::<SecretView>("Replaces the secret of a token (Unix socket only)"),
    ]
}

fn require_socket(identity: &Identity) -> Result<(), ApiError> {
    identity.require_socket("managing access")
}

async fn listen(
    api: Api,
    identity: Identity,
    JsonBody(request): JsonBody<ListenRequest>,
) -> JsonResult<ListenView> {
    require_socket(&identity)?;
    let address = request.listen.map(|text| text.parse()).transpose();
    let address =
        address.map_err(|_| ApiError::invalid("invalid listen address: expected ADDRESS:PORT"))?;
    Ok(Json(api.access.listen(address).await?))
}

async fn link(
    api: Api,
    identity: Identity,
    JsonBody(request): JsonBody<LinkRequest>,
) -> JsonResult<LinkView> {
    require_socket(&identity)?;
    let listen = api.access.listen(None).await?;
    let secret = api.access.create_link(request.scope)?;
    let url = format!("{}/login?once={}", listen.url, secret.expose());
    Ok(Json(LinkView { url, valid_s: sign_in_links::VALID.as_secs() }))
}

async fn show(api: Api, identity: Identity) -> JsonResult<SecretView> {
    require_socket(&identity)?;
    let (issued, cut) = api.access.issue(|store| store.main()).await?;
    Ok(Json(secret_view(&issued, cut)))
}

async fn list(api: Api, identity: Identity) -> JsonResult<Vec<TokenView>> {
    require_socket(&identity)?;
    let entries = api.access.with_store(|store| store.list()).await?;
    let now = clock::now_ms();
    let valid = entries.iter().filter(|entry| entry.expires_ms.is_none_or(|at| at > now));
    Ok(Json(valid.map(view).collect()))
}

async fn add(
    api: Api,
    identity: Identity,
    JsonBody(CreateTokenRequest { name, scope }): JsonBody<CreateTokenRequest>,
) -> CreatedResult<SecretView> {
    require_socket(&identity)?;
    let now = clock::now_ms();
    let add = move |store: &super::TokenStore| store.add(name, TokenKind::Extra, scope, now);
    let (issued, cut) = api.access.issue(add).await?;
    Ok((StatusCode::CREATED, Json(secret_view(&issued, cut))))
}

async fn rotate(api: Api, Path(name): Path<String>, identity: Identity) -> JsonResult<SecretView> {
    require_socket(&identity)?;
    let now = clock::now_ms();
    let rotate = move |store: &super::TokenStore| {
        if name == MAIN {
            // There may be none yet, and the file may have been replaced: either revokes browsers.
            store.main()?;
        }
        store.rotate(&name, now)
    };
    let (issued, cut) = api.access.issue(rotate).await?;
    tracing::info!(name = issued.entry.name, "rotated a token");
    Ok(Json(secret_view(&issued, cut)))
}

async fn revoke(
    api: Api,
    Path(name): Path<String>,
    identity: Identity,
) -> JsonResult<RevokeResponse> {
    require_socket(&identity)?;
    let (connections, named) = (api.access.0.connections.clone(), name.clone());
    let revoke = move |store: &super::TokenStore| {
        let (id, saved) = store.revoke(&named)?;
        Ok((connections.cut(&[id], None), saved))
    };
    let (cut, saved) = api.access.with_store(revoke).await?;
    tracing::info!(name, cut, "revoked a token");
    saved?;
    Ok(Json(RevokeResponse { cut }))
}

fn secret_view(issued: &IssuedToken, cut: u64) -> SecretView {
    SecretView { token: view(&issued.entry), secret: issued.secret.expose().to_owned(), cut }
}

fn view(entry: &TokenEntry) -> TokenView {
    TokenView {
        name: entry.name.clone(),
        kind: entry.kind,
        scope: entry.scope,
        made_at: entry.made_ms.map(clock::rfc3339),
        expires_at: entry.expires_ms.map(clock::rfc3339),
    }
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

/// Cuts all connections of the browser. The one of this request is cut after the response.
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
        let cut = connections.cut(&[id], Some(&connection));
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

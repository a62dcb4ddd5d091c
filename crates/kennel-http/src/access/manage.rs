//! Manages listeners, tokens and sign-in links. Only at the socket in the home: a token can't create tokens.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use kennel_daemon::{ApiError, clock};
use kennel_types::api::{
    CreateTokenRequest, LinkRequest, LinkView, ListenRequest, ListenView, RevokeResponse,
    SecretView, TokenKind, TokenView,
};

use super::identity::Identity;
use super::sign_in_links;
use super::token_store::IssuedToken;
use super::tokens::{MAIN, TokenEntry};
use crate::api::Api;
use crate::endpoint::{Endpoint, delete, get, post};
use crate::error::{CreatedResult, JsonResult};
use crate::extract::JsonBody;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        post("/v1/access/listen", "listen", listen)
            .body::<ListenRequest>()
            .answer::<ListenView>("Serves the API over TCP, too; only at the socket in the home"),
        post("/v1/access/links", "makeLink", link)
            .body::<LinkRequest>()
            .answer::<LinkView>("Creates a link that signs a browser in once; only at the socket"),
        get("/v1/access/token", "getToken", show)
            .answer::<SecretView>("Shows the main token; only at the socket"),
        get("/v1/access/tokens", "listTokens", list)
            .answer::<Vec<TokenView>>("Lists tokens without their secrets; only at the socket"),
        post("/v1/access/tokens", "addToken", add)
            .body::<CreateTokenRequest>()
            .created::<SecretView>("Creates a token; only at the socket"),
        delete("/v1/access/tokens/{name}", "revokeToken", revoke).answer::<RevokeResponse>(
            "Revokes a token and cuts its connections; only at the socket",
        ),
        post("/v1/access/tokens/{name}/rotate", "rotateToken", rotate)
            .answer::<SecretView>("Gives a token a new secret; only at the socket"),
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
        Ok((connections.cut(&[id]), saved))
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

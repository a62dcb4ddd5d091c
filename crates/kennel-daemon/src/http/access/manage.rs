//! Listeners, tokens and links. For whoever is at the home's socket: a token makes no tokens.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kennel_types::api::{
    LinkRequest, LinkView, ListenRequest, ListenView, NewToken, RevokeAnswer, SecretView,
    TokenKind, TokenView,
};

use super::identity::Identity;
use super::links;
use super::roll::{Entry, MAIN};
use super::store::Made;
use crate::error::ApiError;
use crate::http::Api;
use crate::http::body::Body;
use crate::http::endpoint::{Endpoint, delete, get, post};
use crate::os::clock;

type Answered<T> = Result<Json<T>, ApiError>;

/// Their places.
pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        post(
            "/v1/access/listen",
            listen,
            ("listen", "Has the API over TCP too; at the socket only, as all of these"),
        )
        .body::<ListenRequest>()
        .answer::<ListenView>(200),
        post("/v1/access/links", link, ("makeLink", "Makes a link that lets a browser in once"))
            .body::<LinkRequest>()
            .answer::<LinkView>(200),
        get("/v1/access/token", show, ("getToken", "Shows the home's own token"))
            .answer::<SecretView>(200),
        get("/v1/access/tokens", list, ("listTokens", "Lists tokens, without their secrets"))
            .answer::<Vec<TokenView>>(200),
        post("/v1/access/tokens", add, ("addToken", "Makes a token"))
            .body::<NewToken>()
            .answer::<SecretView>(201),
        delete(
            "/v1/access/tokens/{name}",
            revoke,
            ("revokeToken", "Revokes a token, and cuts its connections"),
        )
        .answer::<RevokeAnswer>(200),
        post(
            "/v1/access/tokens/{name}/rotate",
            rotate,
            ("rotateToken", "Puts another secret in the place of a token's"),
        )
        .answer::<SecretView>(200),
    ]
}

fn at_socket(identity: &Identity) -> Result<(), ApiError> {
    identity.at_socket("access is looked after")
}

async fn listen(
    State(api): State<Api>,
    identity: Identity,
    Body(request): Body<ListenRequest>,
) -> Answered<ListenView> {
    at_socket(&identity)?;
    let address = request.listen.map(|text| text.parse());
    let address = address.transpose();
    let address = address.map_err(|_| ApiError::invalid("listen is no address with a port"))?;
    api.access().listen(address).await.map(Json)
}

async fn link(
    State(api): State<Api>,
    identity: Identity,
    Body(request): Body<LinkRequest>,
) -> Answered<LinkView> {
    at_socket(&identity)?;
    let listen = api.access().listen(None).await?;
    let secret = api.access().make_link(request.scope)?;
    let url = format!("{}/login?once={}", listen.url, secret.expose());
    Ok(Json(LinkView { url, valid_s: links::VALID.as_secs() }))
}

async fn show(State(api): State<Api>, identity: Identity) -> Answered<SecretView> {
    at_socket(&identity)?;
    let made = api.access().change_and_cut(|store| store.main(), |made| made.out.clone());
    let (made, cut) = made.await?;
    Ok(Json(told(&made, cut)))
}

async fn list(State(api): State<Api>, identity: Identity) -> Answered<Vec<TokenView>> {
    at_socket(&identity)?;
    let entries = api.access().change(|store| store.list()).await?;
    let now = clock::now_ms();
    let good = entries.iter().filter(|entry| entry.expires_ms.is_none_or(|at| at > now));
    Ok(Json(good.map(view).collect()))
}

async fn add(
    State(api): State<Api>,
    identity: Identity,
    Body(NewToken { name, scope }): Body<NewToken>,
) -> Result<(StatusCode, Json<SecretView>), ApiError> {
    at_socket(&identity)?;
    let now = clock::now_ms();
    let add = move |store: &super::Store| store.add(name, TokenKind::Extra, scope, now);
    let (made, cut) = api.access().change_and_cut(add, |made| made.out.clone()).await?;
    Ok((StatusCode::CREATED, Json(told(&made, cut))))
}

async fn rotate(
    State(api): State<Api>,
    Path(name): Path<String>,
    identity: Identity,
) -> Answered<SecretView> {
    at_socket(&identity)?;
    let now = clock::now_ms();
    let rotate = move |store: &super::Store| {
        if name == MAIN {
            // There may be none yet, and browsers are out with the one that there is.
            store.main()?;
        }
        store.rotate(&name, now)
    };
    let (made, cut) = api.access().change_and_cut(rotate, |made| made.out.clone()).await?;
    tracing::info!(name = made.entry.name, "a token was rotated");
    Ok(Json(told(&made, cut)))
}

async fn revoke(
    State(api): State<Api>,
    Path(name): Path<String>,
    identity: Identity,
) -> Answered<RevokeAnswer> {
    at_socket(&identity)?;
    let named = name.clone();
    let revoke = move |store: &super::Store| store.revoke(&named);
    let revoked = api.access().change_and_cut(revoke, |(out, _)| vec![*out]).await?;
    let ((_, saved), cut) = revoked;
    tracing::info!(name, cut, "a token was revoked");
    saved?;
    Ok(Json(RevokeAnswer { cut }))
}

/// What was made, and how many were cut for it.
fn told(made: &Made, cut: u64) -> SecretView {
    SecretView { token: view(&made.entry), secret: made.secret.expose().to_owned(), cut }
}

fn view(entry: &Entry) -> TokenView {
    TokenView {
        name: entry.name.clone(),
        kind: entry.kind,
        scope: entry.scope,
        made_at: entry.made_ms.map(clock::rfc3339),
        expires_at: entry.expires_ms.map(clock::rfc3339),
    }
}

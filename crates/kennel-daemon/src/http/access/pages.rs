//! What a browser sees: the way in, and the place of the dashboard.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use kennel_types::api::{Scope, TokenKind};

use super::guard::Gate;
use super::identity::Identity;
use super::places::is_page;
use super::roll::BROWSER_MS;
use super::seats::Seat;
use super::secret::Sum;
use super::{dashboard, page};
use crate::error::ApiError;
use crate::http::nothing_here;
use crate::os::clock;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

/// The way in.
pub(super) fn routes(gate: Gate) -> Router {
    Router::new().route("/login", get(login)).with_state(gate)
}

/// What is at no other place: the dashboard, or nothing.
pub(super) async fn elsewhere(gate: Gate, request: Request) -> Response {
    let (path, headers) = (request.uri().path(), request.headers());
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return nothing_here().await;
    }
    if request.extensions().get::<Identity>().is_none() {
        return stranger(path, headers);
    }
    let site = gate.access.site();
    if let Some(why) = site.why_not()
        && is_page(path, headers)
    {
        return page::no_dashboard(gate.access.version(), why);
    }
    match dashboard::at(site, path, headers).await {
        Ok(Some(response)) => response,
        Ok(None) => nothing_here().await,
        Err(refused) => refused.into_response(),
    }
}

/// For a browser that is not known; or that did not say who it is, because a page of somebody else led it here. From a
/// page of ours it does.
fn stranger(path: &str, headers: &HeaderMap) -> Response {
    match is_led_by_another(headers) {
        true => page::onward(StatusCode::UNAUTHORIZED, path),
        false => page::not_signed_in(),
    }
}

/// Lets a browser in that came by a link.
async fn login(
    State(gate): State<Gate>,
    Extension(seat): Extension<Arc<Seat>>,
    request: Request,
) -> Response {
    let ahead = request.headers().get(PURPOSE).is_some();
    if request.method() == Method::HEAD || ahead {
        // Whoever only looks ahead must not use the link up.
        return StatusCode::NO_CONTENT.into_response();
    }
    let query = request.uri().query().unwrap_or_default();
    let once = query.split('&').find_map(|pair| pair.strip_prefix("once=")).unwrap_or_default();
    let spent = gate.access.links().spend(&Sum::of(once.as_bytes()), Instant::now());
    let Some(scope) = spent else {
        if let Some(too_many) = gate.count(&seat, "a link that is used up, too old or wrong") {
            return too_many;
        }
        return page::void_link();
    };
    match let_in(&gate, scope).await {
        Ok(cookie) => arrive(request.headers(), &cookie),
        Err(refused) => refused.into_response(),
    }
}

/// The cookie of a new browser.
async fn let_in(gate: &Gate, scope: Scope) -> Result<String, ApiError> {
    let now = clock::now_ms();
    let add = move |store: &super::Store| store.add(None, TokenKind::Browser, scope, now);
    let (made, _) = gate.access.change_and_cut(add, |made| made.out.clone()).await?;
    tracing::info!(name = made.entry.name, "a browser was let in");
    Ok(gate.names.set_cookie(made.secret.expose(), BROWSER_MS / 1000))
}

/// On to the front page, so that the secret leaves the address.
fn arrive(headers: &HeaderMap, cookie: &str) -> Response {
    let mut response = if is_led_by_another(headers) {
        // A redirect would count as that page's doing, and be made without the cookie; from a page of ours it is not.
        page::onward(StatusCode::OK, "/")
    } else {
        (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
    };
    if let Ok(cookie) = cookie.parse() {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Whether a page of somebody else led a browser here.
fn is_led_by_another(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(|site| site.as_bytes());
    matches!(site, Some(b"cross-site" | b"same-site"))
}

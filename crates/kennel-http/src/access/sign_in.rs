//! Signs browsers in with a link, and serves every path of the dashboard.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use kennel_daemon::clock;
use kennel_types::api::TokenKind;

use super::authorization::FETCH_SITE;
use super::connections::TcpConnection;
use super::dashboard::is_page;
use super::guard::AccessGuard;
use super::identity::Identity;
use super::secret::SecretHash;
use super::tokens::BROWSER_MS;
use super::{dashboard, html_page};
use crate::api::not_found;
use crate::error::HandlerResult;

const PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

pub(super) fn routes(guard: AccessGuard) -> Router {
    Router::new().route("/login", get(sign_in)).with_state(guard)
}

/// Serves paths that are not endpoints: the dashboard, or an error.
pub(super) async fn fallback(guard: AccessGuard, request: Request) -> HandlerResult<Response> {
    let (path, headers) = (request.uri().path(), request.headers());
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(not_found().await);
    }
    if request.extensions().get::<Identity>().is_none() {
        // A browser that comes from a page of another origin does not send its cookie. From a page of this origin it does.
        return Ok(match is_cross_site(headers) {
            true => html_page::redirect(StatusCode::UNAUTHORIZED, path),
            false => html_page::not_signed_in(),
        });
    }
    let site = &guard.access.0.site;
    if let Some(why) = site.missing_reason()
        && is_page(path, headers)
    {
        return Ok(html_page::no_dashboard(&guard.access.0.version, why));
    }
    match dashboard::at(site, path, headers).await? {
        Some(response) => Ok(response),
        None => Err(not_found().await),
    }
}

async fn sign_in(
    State(guard): State<AccessGuard>,
    Extension(connection): Extension<Arc<TcpConnection>>,
    request: Request,
) -> HandlerResult<Response> {
    let prefetch = request.headers().get(PURPOSE).is_some();
    if request.method() == Method::HEAD || prefetch {
        // A prefetch must not consume the link.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let query = request.uri().query().unwrap_or_default();
    let once = query.split('&').find_map(|pair| pair.strip_prefix("once=")).unwrap_or_default();
    let redeemed = guard.access.links().redeem(&SecretHash::of(once.as_bytes()), Instant::now());
    let Some(scope) = redeemed else {
        let throttled = guard.count_failure(&connection, "used, expired or wrong sign-in link");
        return Ok(throttled.unwrap_or_else(html_page::invalid_link));
    };
    let now = clock::now_ms();
    let add = move |store: &super::TokenStore| store.add(None, TokenKind::Browser, scope, now);
    let (issued, _) = guard.access.issue(add).await?;
    tracing::info!(name = issued.entry.name, "a browser signed in");
    let cookie = guard.names.set_cookie(issued.secret.expose(), BROWSER_MS / 1000);
    Ok(redirect_home(request.headers(), &cookie))
}

/// Redirects to the front page, so that the secret leaves the address bar.
fn redirect_home(headers: &HeaderMap, cookie: &str) -> Response {
    let mut response = if is_cross_site(headers) {
        // After a redirect the browser would not send the cookie, because a page of another origin started the navigation.
        html_page::redirect(StatusCode::OK, "/")
    } else {
        (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
    };
    if let Ok(cookie) = cookie.parse() {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Whether the browser comes from a page of another origin.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(|site| site.as_bytes());
    matches!(site, Some(b"cross-site" | b"same-site"))
}

//! What a browser sees: the way in, and the place of the dashboard.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use kennel_core::api::{Scope, TokenKind};

use super::guard::Gate;
use super::identity::Identity;
use super::roll::BROWSER_MS;
use super::seats::Seat;
use super::secret::Sum;
use crate::clock;
use crate::refused::Refused;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

/// The pages.
pub(super) fn routes(gate: Gate) -> Router {
    Router::new().route("/", get(front)).route("/login", get(login)).with_state(gate)
}

async fn front(State(gate): State<Gate>, who: Option<Extension<Identity>>) -> Response {
    match who {
        Some(Extension(identity)) => {
            let may = match identity.scope {
                Scope::Full => "may do everything",
                Scope::ReadOnly => "may look, and change nothing",
            };
            let version = gate.access.version();
            let text = format!(
                "<p>Kennel {version} runs, and this browser {may}.</p>\n\
                 <p>The dashboard comes later, at this place.</p>"
            );
            page(StatusCode::OK, &text)
        }
        None => page(
            StatusCode::UNAUTHORIZED,
            "<p>This browser is not known here. <code>kennel dashboard</code> opens a link that lets it in.</p>\n\
             <p>If you have just come by such a link, load this page again.</p>",
        ),
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
        return page(
            StatusCode::FORBIDDEN,
            "<p>This link is not good any more: each is good once, and for a minute.</p>\n\
             <p><code>kennel dashboard</code> makes another.</p>",
        );
    };
    match let_in(&gate, scope).await {
        Ok(cookie) => arrive(request.headers(), &cookie),
        Err(refused) => refused.into_response(),
    }
}

/// The cookie of a new browser.
async fn let_in(gate: &Gate, scope: Scope) -> Result<String, Refused> {
    let now = clock::now_ms();
    let add = move |store: &super::Store| store.add(None, TokenKind::Browser, scope, now);
    let (made, _) = gate.access.change_and_cut(add, |made| made.out.clone()).await?;
    tracing::info!(name = made.entry.name, "a browser was let in");
    let secure = if gate.names.tls() { "; Secure" } else { "" };
    Ok(format!(
        "{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{secure}",
        gate.names.cookie(),
        made.secret.expose(),
        BROWSER_MS / 1000
    ))
}

/// On to the front page, so that the secret leaves the address.
fn arrive(headers: &HeaderMap, cookie: &str) -> Response {
    let site = headers.get(FETCH_SITE).map(|site| site.as_bytes());
    let by_another_page = matches!(site, Some(b"cross-site" | b"same-site"));
    let mut response = if by_another_page {
        // A redirect would count as that page's doing, and be made without the cookie; from a page of ours it is not.
        let onward =
            "<meta http-equiv=\"refresh\" content=\"0; url=/\">\n<p><a href=\"/\">Go on</a></p>";
        page(StatusCode::OK, onward)
    } else {
        (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
    };
    if let Ok(cookie) = cookie.parse() {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

fn page(status: StatusCode, text: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Kennel</title></head>\n\
         <body>\n<h1>Kennel</h1>\n{text}\n</body>\n</html>\n"
    );
    (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

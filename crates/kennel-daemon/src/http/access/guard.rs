//! Stands before every route that is reached over TCP.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Extension, http};

use super::identity::{Identity, Via, read_only};
use super::names::Names;
use super::seats::Seat;
use super::throttle::Failure;
use super::verdict::{Denial, Knock, judge};
use super::{Access, timely};
use crate::error::{ApiError, ApiErrorKind};
use crate::os::clock;

/// What every answer says to browsers: nothing of others is loaded or sent to, nobody frames us, no type is guessed,
/// no address is passed on. Styles may stand in a page: a terminal makes its own as it runs. Scripts may not.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        http::header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; \
             img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
    ),
    (http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (http::header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (http::header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// What is asked at one listener.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub(super) access: Access,
    pub(super) names: Arc<Names>,
}

/// Lets a request in, or says why not.
pub(super) async fn guard(
    State(gate): State<Gate>,
    Extension(seat): Extension<Arc<Seat>>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut response = match gate.admit(&seat, &request) {
        Ok(identity) => {
            if let Some(identity) = identity {
                request.extensions_mut().insert(identity);
            }
            request.extensions_mut().insert(gate.names.clone());
            next.run(request.map(|body| timely::within(timely::LIMIT, body))).await
        }
        Err(denial) => gate.deny(&seat, request.method(), denial),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, value);
    }
    // Nothing is kept but files of the dashboard, which say so.
    let kept = response.headers_mut().entry(CACHE_CONTROL);
    kept.or_insert(HeaderValue::from_static("no-store"));
    response
}

impl Gate {
    fn admit(&self, seat: &Seat, request: &Request) -> Result<Option<Identity>, Denial> {
        let knock =
            Knock { method: request.method(), uri: request.uri(), headers: request.headers() };
        let store = self.access.store();
        let now = clock::now_ms();
        let identity = judge(&knock, &self.names, |sum, how| store.find(sum, how, now))?;
        if let Some(Identity { via: Via::Tcp { id, .. }, .. }) = &identity {
            if !seat.known_by(*id) {
                return Err(Denial::Crowded);
            }
            // Who revokes it from now on finds this connection; who has just done so did not.
            if !store.holds(*id) {
                return Err(Denial::WrongSecret);
            }
        }
        Ok(identity)
    }

    fn deny(&self, seat: &Seat, method: &Method, denial: Denial) -> Response {
        // A secret that is wrong is counted; all else costs nothing and tells nothing.
        if denial == Denial::WrongSecret
            && let Some(response) = self.count(seat, "a wrong token")
        {
            return response;
        }
        if !matches!(denial, Denial::NoSecret | Denial::WrongSecret) {
            tracing::debug!(peer = %seat.peer, %method, %denial, "refused");
        }
        let mut response = refused(denial).into_response();
        if matches!(denial, Denial::NoSecret | Denial::WrongSecret) {
            let scheme = HeaderValue::from_static("Bearer realm=\"kennel\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        response
    }

    /// Notes a wrong secret; an answer if there were too many.
    pub(super) fn count(&self, seat: &Seat, what: &str) -> Option<Response> {
        match self.access.throttle().fail(seat.peer, Instant::now()) {
            Failure::Counted => {
                tracing::warn!(peer = %seat.peer, "{what} was shown over TCP");
                None
            }
            Failure::TooMany(wait) => {
                let text = "too many wrong tokens came from there";
                let mut response = ApiError::new(ApiErrorKind::TooMany, text).into_response();
                let seconds = wait.as_secs() + 1;
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                Some(response)
            }
        }
    }
}

fn refused(denial: Denial) -> ApiError {
    let say = |kind| ApiError::new(kind, denial);
    match denial {
        Denial::WrongHost => say(ApiErrorKind::Misdirected)
            .hint("ask for it as localhost, by its address, or by a name in api.names"),
        Denial::ForeignOrigin | Denial::Forged => say(ApiErrorKind::Forbidden),
        Denial::Unclear(_) => say(ApiErrorKind::Invalid),
        Denial::TooLarge => say(ApiErrorKind::TooLarge),
        Denial::NoSecret => say(ApiErrorKind::Unauthorized).hint(
            "send `Authorization: Bearer TOKEN` (`kennel token show`), or come by `kennel dashboard`",
        ),
        Denial::WrongSecret => say(ApiErrorKind::Unauthorized)
            .hint("it may have been rotated or revoked; `kennel token show` shows the present one"),
        Denial::ReadOnly => read_only(),
        Denial::Crowded => say(ApiErrorKind::Busy).hint("close some of them first"),
    }
}

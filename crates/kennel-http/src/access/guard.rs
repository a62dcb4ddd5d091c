//! Authorizes every request over TCP.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use kennel_daemon::{ApiError, ApiErrorKind, clock};
use tokio::time::timeout_at;

use super::authorization::{Denial, authorize};
use super::connections::TcpConnection;
use super::host_names::HostNames;
use super::identity::{Credential, Identity, read_only};
use super::{Access, lock};
use crate::error::ErrorResponse;

/// Security headers of every response: no content from or for other sites, no framing, no content sniffing, no referrer.
/// Inline styles are allowed because the terminal creates its own; inline scripts are not.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; \
         img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// How long a request body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// The state that requests to a listener are checked against.
#[derive(Debug, Clone)]
pub(super) struct AccessGuard {
    pub(super) access: Access,
    pub(super) names: Arc<HostNames>,
}

pub(super) async fn guard(
    State(guard): State<AccessGuard>,
    Extension(connection): Extension<Arc<TcpConnection>>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut response = match guard.authorize(&connection, &request) {
        Ok(identity) => {
            if let Some(identity) = identity {
                request.extensions_mut().insert(identity);
            }
            request.extensions_mut().insert(guard.names.clone());
            next.run(request.map(|body| within(BODY_TIMEOUT, body))).await
        }
        Err(denial) => guard.deny(&connection, request.method(), denial),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    // Only files of the dashboard may be cached, and they set this themselves.
    let cached = response.headers_mut().entry(CACHE_CONTROL);
    cached.or_insert(HeaderValue::from_static("no-store"));
    response
}

impl AccessGuard {
    fn authorize(
        &self,
        connection: &TcpConnection,
        request: &Request,
    ) -> Result<Option<Identity>, Denial> {
        let store = &self.access.0.store;
        let now = clock::now_ms();
        let identity = authorize(request, &self.names, |hash, kind| store.find(hash, kind, now))?;
        if let Some(Identity { credential: Credential::Token { id, .. }, .. }) = &identity {
            if !connection.use_token(*id) {
                return Err(Denial::TooManyConnections);
            }
            // A later revocation cuts this connection. Check for one that has just happened.
            if !store.contains(*id) {
                return Err(Denial::WrongSecret);
            }
        }
        Ok(identity)
    }

    fn deny(&self, connection: &TcpConnection, method: &Method, denial: Denial) -> Response {
        // Count only wrong secrets: other denials are cheap and reveal nothing.
        if denial == Denial::WrongSecret
            && let Some(response) = self.count_failure(connection, "wrong token")
        {
            return response;
        }
        let unauthorized = matches!(denial, Denial::NoSecret | Denial::WrongSecret);
        if !unauthorized {
            tracing::debug!(peer = %connection.peer, %method, %denial, "refused a request");
        }
        let mut response = ErrorResponse::from(error(denial)).into_response();
        if unauthorized {
            let scheme = HeaderValue::from_static("Bearer realm=\"kennel\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        response
    }

    /// Counts a wrong secret. Returns a response if there were too many.
    pub(super) fn count_failure(&self, connection: &TcpConnection, what: &str) -> Option<Response> {
        let Err(wait) = lock(&self.access.0.throttle).fail(connection.peer, Instant::now()) else {
            tracing::warn!(peer = %connection.peer, "{what} over TCP");
            return None;
        };
        let text = "too many wrong tokens from this address";
        let error = ErrorResponse::from(ApiError::new(ApiErrorKind::TooMany, text));
        Some(([(RETRY_AFTER, wait.as_secs() + 1)], error).into_response())
    }
}

fn error(denial: Denial) -> ApiError {
    let new = |kind| ApiError::new(kind, denial);
    match denial {
        Denial::WrongHost => new(ApiErrorKind::Misdirected)
            .hint("use localhost, the listener's address, or a name in api.names"),
        Denial::ForeignOrigin | Denial::Forged => new(ApiErrorKind::Forbidden),
        Denial::Ambiguous(_) => new(ApiErrorKind::Invalid),
        Denial::TooLarge => new(ApiErrorKind::TooLarge),
        Denial::NoSecret => new(ApiErrorKind::Unauthorized).hint(
            "send `Authorization: Bearer TOKEN` (`kennel token show`), or sign in with `kennel dashboard`",
        ),
        Denial::WrongSecret => new(ApiErrorKind::Unauthorized)
            .hint("it may have been rotated or revoked; `kennel token show` prints the current one"),
        Denial::ReadOnly => read_only(),
        Denial::TooManyConnections => new(ApiErrorKind::Busy).hint("close some of them first"),
    }
}

/// Fails the body if it takes longer than this.
fn within(limit: Duration, body: Body) -> Body {
    let deadline = tokio::time::Instant::now() + limit;
    Body::from_stream(unfold(body.into_data_stream(), move |mut body| async move {
        let chunk = timeout_at(deadline, body.next()).await.unwrap_or_else(|_| {
            let late = io::Error::new(io::ErrorKind::TimedOut, "timed out while reading the body");
            Some(Err(axum::Error::new(late)))
        });
        Some((chunk?, body))
    }))
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use futures_util::stream::pending;

    use super::*;

    #[tokio::test]
    async fn fails_a_late_body_and_passes_others_unchanged() {
        let never =
            within(Duration::from_millis(5), Body::from_stream(pending::<io::Result<Bytes>>()));
        assert!(axum::body::to_bytes(never, 100).await.is_err());
        let there = within(BODY_TIMEOUT, Body::from("all of it"));
        assert_eq!(axum::body::to_bytes(there, 100).await.unwrap(), "all of it");
    }
}

//! The state that all routes share, and the router.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRequestParts};
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use kennel_daemon::{ApiError, ApiErrorKind, DaemonHandle, ServerSetup};
use kennel_web::Site;

use crate::access::Access;
use crate::error::ErrorResponse;
use crate::extract::MAX_BODY;
use crate::observe::ObserveState;
use crate::stream::limits::StreamLimits;
use crate::{HttpConfig, endpoint, endpoints};

/// The state of the API, which handlers take as an argument. Clones share the same state.
#[derive(Debug, Clone)]
pub(crate) struct Api(Arc<ApiState>);

#[derive(Debug)]
pub(crate) struct ApiState {
    pub(crate) daemon: DaemonHandle,
    pub(crate) observe: ObserveState,
    pub(crate) streams: StreamLimits,
    pub(crate) access: Access,
}

impl Deref for Api {
    type Target = ApiState;

    fn deref(&self) -> &ApiState {
        &self.0
    }
}

impl FromRequestParts<Self> for Api {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, api: &Self) -> Result<Self, Infallible> {
        Ok(api.clone())
    }
}

impl Api {
    pub(crate) fn new(config: HttpConfig, setup: ServerSetup) -> Self {
        let observe = ObserveState::new(config.doctor, setup.daemon.shutdown_signal());
        let streams = StreamLimits::new(config.write_timeout);
        let access = Access::new(config.listen, Site(config.web), &setup);
        let daemon = setup.daemon;
        Self(Arc::new(ApiState { daemon, observe, streams, access }))
    }

    /// Returns all routes; `fallback` serves every other path.
    pub(crate) fn routes<T: 'static>(self, fallback: impl Handler<T, Self>) -> Router {
        endpoint::router(endpoints::all(), &self)
            .fallback(fallback)
            .method_not_allowed_fallback(method_not_allowed)
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .layer(map_response(framework_error))
            .with_state(self)
    }
}

pub(crate) async fn not_found() -> ErrorResponse {
    ApiError::not_found("no such path").into()
}

async fn method_not_allowed() -> ErrorResponse {
    ApiError::new(ApiErrorKind::Method, "this path does not support this method").into()
}

/// Converts errors of the framework itself, which are plain text, into problem documents.
async fn framework_error(response: Response) -> Response {
    const MAX_TEXT: usize = 4096;
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_text = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !(status.is_client_error() || status.is_server_error()) || !is_text {
        return response;
    }
    let kind = match status {
        StatusCode::NOT_FOUND => ApiErrorKind::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => ApiErrorKind::Method,
        StatusCode::PAYLOAD_TOO_LARGE => ApiErrorKind::TooLarge,
        status if status.is_client_error() => ApiErrorKind::Malformed,
        _ => ApiErrorKind::Internal,
    };
    let text = axum::body::to_bytes(response.into_body(), MAX_TEXT).await.unwrap_or_default();
    let text = match String::from_utf8_lossy(&text) {
        empty if empty.is_empty() => "malformed request".into(),
        text => text,
    };
    ErrorResponse::from(ApiError::new(kind, text)).into_response()
}

/// Returns an API without an owner task, for tests, with the sender that shuts it down and its register.
#[cfg(test)]
pub(crate) fn detached(
    folder: &std::path::Path,
) -> (Api, tokio::sync::watch::Sender<bool>, kennel_register::Register) {
    let (shutdown, receiver) = tokio::sync::watch::channel(false);
    let (daemon, register) = DaemonHandle::detached(folder, receiver);
    let setup = ServerSetup { daemon, version: "test".into(), rebooted: false, max_connections: 8 };
    (Api::new(HttpConfig::default(), setup), shutdown, register)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_two_routes_overlap() {
        let folder = tempfile::tempdir().unwrap();
        let (api, _shutdown, register) = detached(folder.path());
        // The router panics on an overlap.
        drop(api.routes(not_found));
        register.close();
    }
}

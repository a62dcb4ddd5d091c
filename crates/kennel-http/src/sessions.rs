//! Sessions: create, list, show, wait, stop, resume, forget, remove, prune.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kennel_daemon::ApiError;
use kennel_types::api::Until;
use kennel_types::api::{
    ByRequest, CreateRequest, InspectView, ListRequest, PruneRequest, PruneResponse, ResumeRequest,
    StdinFrom, StopRequest, StopResponse,
};
use kennel_types::{SessionId, SessionView};
use serde::Deserialize;

use crate::access::Identity;
use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::{JsonBody, Params};

pub(crate) async fn list(
    State(api): State<Api>,
    Params(request): Params<ListRequest>,
) -> HandlerResult<Response> {
    let json = api.daemon.list(request).await?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// What the response to a new launch waits for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateQuery {
    #[serde(default)]
    until: Until,
    /// The session that the same request created before the daemon was killed: the client reconnects to it.
    rejoin: Option<SessionId>,
}

pub(crate) async fn create(
    State(api): State<Api>,
    identity: Identity,
    Params(CreateQuery { until, rejoin }): Params<CreateQuery>,
    headers: HeaderMap,
    JsonBody(mut request): JsonBody<CreateRequest>,
) -> HandlerResult<(StatusCode, Json<SessionView>)> {
    take_key(&headers, &mut request.spec.key)?;
    check_stdin(&identity, &request.stdin)?;
    let view = api.daemon.create(request, until, rejoin).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

pub(crate) async fn resume(
    State(api): State<Api>,
    identity: Identity,
    Path(reference): Path<String>,
    Params(CreateQuery { until, .. }): Params<CreateQuery>,
    JsonBody(request): JsonBody<ResumeRequest>,
) -> HandlerResult<Json<SessionView>> {
    check_stdin(&identity, &request.stdin)?;
    Ok(Json(api.daemon.resume(reference, request, until).await?))
}

/// A descriptor can be passed only at the socket in the home.
pub(crate) fn check_stdin(identity: &Identity, stdin: &StdinFrom) -> Result<(), ApiError> {
    match stdin {
        StdinFrom::Deposit { .. } => identity.require_socket("passing a standard input"),
        StdinFrom::Null | StdinFrom::Pipe => Ok(()),
    }
}

/// Takes the idempotency key from the header that other services use for it.
pub(crate) fn take_key(headers: &HeaderMap, key: &mut Option<String>) -> Result<(), ApiError> {
    let Some(given) = headers.get("idempotency-key") else { return Ok(()) };
    let given = given.to_str().map_err(|_| ApiError::invalid("Idempotency-Key is not ASCII"))?;
    if key.as_ref().is_some_and(|key| key != given) {
        return Err(ApiError::invalid("Idempotency-Key and key differ").hint("send one of them"));
    }
    *key = Some(given.to_owned());
    Ok(())
}

pub(crate) async fn show(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> HandlerResult<Json<SessionView>> {
    Ok(Json(api.daemon.show(reference).await?))
}

pub(crate) async fn inspect(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> HandlerResult<Json<InspectView>> {
    Ok(Json(api.daemon.inspect(reference).await?))
}

/// How a client waits.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitQuery {
    /// Whether disconnecting before the end stops what is waited for.
    #[serde(default)]
    pub(crate) tied: bool,
}

impl WaitQuery {
    /// A wait that stops something on disconnect is more than reading.
    pub(crate) fn check(&self, identity: &Identity) -> Result<(), ApiError> {
        if self.tied { identity.require_full() } else { Ok(()) }
    }
}

pub(crate) async fn wait(
    State(api): State<Api>,
    identity: Identity,
    Path(reference): Path<String>,
    Params(query): Params<WaitQuery>,
) -> HandlerResult<Json<SessionView>> {
    query.check(&identity)?;
    Ok(Json(api.daemon.wait(reference, query.tied).await?))
}

pub(crate) async fn stop(
    State(api): State<Api>,
    Path(reference): Path<String>,
    JsonBody(request): JsonBody<StopRequest>,
) -> HandlerResult<Json<StopResponse>> {
    Ok(Json(api.daemon.stop(reference, request).await?))
}

pub(crate) async fn forget(
    State(api): State<Api>,
    Path(reference): Path<String>,
    JsonBody(ByRequest { by }): JsonBody<ByRequest>,
) -> HandlerResult<Json<SessionView>> {
    Ok(Json(api.daemon.forget(reference, by).await?))
}

pub(crate) async fn remove(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> HandlerResult<StatusCode> {
    api.daemon.remove(reference).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn prune(
    State(api): State<Api>,
    JsonBody(request): JsonBody<PruneRequest>,
) -> HandlerResult<Json<PruneResponse>> {
    Ok(Json(api.daemon.prune(&request).await?))
}

/// A method of its own: a daemon that does not know it removes nothing.
pub(crate) async fn preview_prune(
    State(api): State<Api>,
    Params(request): Params<PruneRequest>,
) -> HandlerResult<Json<PruneResponse>> {
    Ok(Json(api.daemon.preview_prune(&request).await?))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn takes_the_key_from_the_header_unless_the_body_has_another() {
        let mut headers = HeaderMap::new();
        let mut key = Some("a".to_owned());
        take_key(&headers, &mut key).unwrap();
        assert_eq!(key.as_deref(), Some("a"));
        headers.insert("Idempotency-Key", HeaderValue::from_static("b"));
        assert!(take_key(&headers, &mut key).is_err());
        let mut none = None;
        take_key(&headers, &mut none).unwrap();
        assert_eq!(none.as_deref(), Some("b"));
        take_key(&headers, &mut none).unwrap();
        headers.insert("Idempotency-Key", HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(take_key(&headers, &mut None).is_err());
    }
}

//! Handlers that pass requests to the daemon: sessions, processes, members, plans, worktrees, and the daemon itself.

use std::ffi::OsString;

use axum::Json;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kennel_daemon::ApiError;
use kennel_types::api::{
    AdoptRequest, AdoptResponse, ByRequest, CreateMemberRequest, CreateRequest, DaemonView,
    EndStraysRequest, InputRequest, InspectView, ListRequest, MemberView, OsText, PlanRequest,
    PlanResumeRequest, PruneRequest, PruneResponse, ReplaceRequest, ReportRequest, ResumeRequest,
    ShutdownRequest, SignalRequest, StdinFrom, StopRequest, StopResponse, StraysEnded, StraysView,
    Until, WorktreeLosses, WorktreesView,
};
use kennel_types::plan::PlanView;
use kennel_types::{SessionId, SessionView};
use serde::Deserialize;

use crate::access::Identity;
use crate::api::Api;
use crate::error::{CreatedResult, HandlerResult, JsonResult};
use crate::extract::{JsonBody, Params};
use crate::stream::{self, NDJSON};
use crate::unix_listener::Peer;

pub(crate) async fn list_sessions(
    api: Api,
    Params(request): Params<ListRequest>,
) -> HandlerResult<Response> {
    let json = api.daemon.list(request).await?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// When the daemon responds to a request for a launch.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CreateQuery {
    until: Until,
    /// The session that the same request created before the daemon was killed, if the client reconnects to it.
    rejoin: Option<SessionId>,
}

pub(crate) async fn create_session(
    api: Api,
    identity: Identity,
    Params(CreateQuery { until, rejoin }): Params<CreateQuery>,
    headers: HeaderMap,
    JsonBody(mut request): JsonBody<CreateRequest>,
) -> CreatedResult<SessionView> {
    take_key(&headers, &mut request.spec.key)?;
    check_stdin(&identity, &request.stdin)?;
    let view = api.daemon.create(request, until, rejoin).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

pub(crate) async fn resume_session(
    api: Api,
    identity: Identity,
    Path(reference): Path<String>,
    Params(CreateQuery { until, .. }): Params<CreateQuery>,
    JsonBody(request): JsonBody<ResumeRequest>,
) -> JsonResult<SessionView> {
    check_stdin(&identity, &request.stdin)?;
    Ok(Json(api.daemon.resume(reference, request, until).await?))
}

/// A client can pass a descriptor only on the Unix socket.
pub(crate) fn check_stdin(identity: &Identity, stdin: &StdinFrom) -> Result<(), ApiError> {
    match stdin {
        StdinFrom::Deposit { .. } => identity.require_socket("passing standard input"),
        StdinFrom::Null | StdinFrom::Pipe => Ok(()),
    }
}

/// Takes the idempotency key from the conventional header.
pub(crate) fn take_key(headers: &HeaderMap, key: &mut Option<String>) -> Result<(), ApiError> {
    let Some(given) = headers.get("idempotency-key") else { return Ok(()) };
    let given = given.to_str().map_err(|_| ApiError::invalid("Idempotency-Key must be ASCII"))?;
    if key.as_ref().is_some_and(|key| key != given) {
        return Err(ApiError::invalid("Idempotency-Key and key differ").hint("send one of them"));
    }
    *key = Some(given.to_owned());
    Ok(())
}

pub(crate) async fn show_session(api: Api, reference: Path<String>) -> JsonResult<SessionView> {
    Ok(Json(api.daemon.show(reference.0).await?))
}

pub(crate) async fn inspect_session(api: Api, reference: Path<String>) -> JsonResult<InspectView> {
    Ok(Json(api.daemon.inspect(reference.0).await?))
}

/// How a client waits.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WaitQuery {
    /// Whether disconnecting before the end stops the session or plan.
    cancel_on_disconnect: bool,
}

impl WaitQuery {
    /// Requires full access for a wait that stops something on disconnect.
    fn check(&self, identity: &Identity) -> Result<(), ApiError> {
        if self.cancel_on_disconnect { identity.require_full() } else { Ok(()) }
    }
}

pub(crate) async fn wait_for_session(
    api: Api,
    identity: Identity,
    Path(reference): Path<String>,
    Params(query): Params<WaitQuery>,
) -> JsonResult<SessionView> {
    query.check(&identity)?;
    Ok(Json(api.daemon.wait(reference, query.cancel_on_disconnect).await?))
}

pub(crate) async fn stop_session(
    api: Api,
    Path(reference): Path<String>,
    JsonBody(request): JsonBody<StopRequest>,
) -> JsonResult<StopResponse> {
    Ok(Json(api.daemon.stop(reference, request).await?))
}

pub(crate) async fn forget_session(
    api: Api,
    Path(reference): Path<String>,
    JsonBody(ByRequest { by }): JsonBody<ByRequest>,
) -> JsonResult<SessionView> {
    Ok(Json(api.daemon.forget(reference, by).await?))
}

pub(crate) async fn remove_session(api: Api, reference: Path<String>) -> HandlerResult<StatusCode> {
    api.daemon.remove(reference.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn prune(api: Api, request: JsonBody<PruneRequest>) -> JsonResult<PruneResponse> {
    Ok(Json(api.daemon.prune(&request.0).await?))
}

/// A separate method, so that a daemon that does not support the preview removes nothing.
pub(crate) async fn preview_prune(
    api: Api,
    Params(request): Params<PruneRequest>,
) -> JsonResult<PruneResponse> {
    Ok(Json(api.daemon.preview_prune(&request).await?))
}

pub(crate) async fn send_signal(
    api: Api,
    Path(reference): Path<String>,
    JsonBody(SignalRequest { signal }): JsonBody<SignalRequest>,
) -> HandlerResult<StatusCode> {
    api.daemon.signal(reference, signal).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn send_input(
    api: Api,
    Path(reference): Path<String>,
    JsonBody(InputRequest { hex, eof }): JsonBody<InputRequest>,
) -> HandlerResult<StatusCode> {
    let bytes = OsString::try_from(OsText::Bytes { hex }).map_err(ApiError::invalid)?;
    api.daemon.send_input(reference, bytes.as_encoded_bytes(), eof).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn adopt(
    api: Api,
    peer: Peer,
    JsonBody(request): JsonBody<AdoptRequest>,
) -> CreatedResult<AdoptResponse> {
    Ok((StatusCode::CREATED, Json(api.daemon.adopt(request, peer.pid).await?)))
}

pub(crate) async fn report(
    api: Api,
    peer: Peer,
    JsonBody(request): JsonBody<ReportRequest>,
) -> HandlerResult<StatusCode> {
    api.daemon.report(request, peer.pid).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn find_strays(api: Api) -> JsonResult<StraysView> {
    Ok(Json(api.daemon.find_strays().await?))
}

pub(crate) async fn end_strays(
    api: Api,
    JsonBody(request): JsonBody<EndStraysRequest>,
) -> JsonResult<StraysEnded> {
    Ok(Json(api.daemon.end_strays(request).await?))
}

pub(crate) async fn list_members(api: Api) -> JsonResult<Vec<MemberView>> {
    Ok(Json(api.daemon.list_members().await?))
}

pub(crate) async fn show_member(api: Api, name: Path<String>) -> JsonResult<MemberView> {
    Ok(Json(api.daemon.show_member(name.0).await?))
}

pub(crate) async fn add_member(
    api: Api,
    JsonBody(member): JsonBody<CreateMemberRequest>,
) -> CreatedResult<MemberView> {
    Ok((StatusCode::CREATED, Json(api.daemon.add_member(member).await?)))
}

/// How something is removed.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RemoveQuery {
    /// Whether to remove it even if it is in use or work would be lost.
    force: bool,
    /// The name of the caller, for the event log.
    by: String,
}

pub(crate) async fn remove_member(
    api: Api,
    Path(name): Path<String>,
    Params(RemoveQuery { force, by }): Params<RemoveQuery>,
) -> HandlerResult<StatusCode> {
    api.daemon.remove_member(name, force, by).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn list_plans(api: Api) -> JsonResult<Vec<PlanView>> {
    Ok(Json(api.daemon.list_plans().await?))
}

pub(crate) async fn run_plan(api: Api, request: JsonBody<PlanRequest>) -> CreatedResult<PlanView> {
    Ok((StatusCode::CREATED, Json(api.daemon.run_plan(request.0).await?)))
}

pub(crate) async fn show_plan(api: Api, reference: Path<String>) -> JsonResult<PlanView> {
    Ok(Json(api.daemon.show_plan(reference.0).await?))
}

pub(crate) async fn wait_for_plan(
    api: Api,
    identity: Identity,
    Path(reference): Path<String>,
    Params(query): Params<WaitQuery>,
) -> JsonResult<PlanView> {
    query.check(&identity)?;
    Ok(Json(api.daemon.wait_for_plan(reference, query.cancel_on_disconnect).await?))
}

pub(crate) async fn cancel_plan(
    api: Api,
    Path(reference): Path<String>,
    JsonBody(ByRequest { by }): JsonBody<ByRequest>,
) -> JsonResult<PlanView> {
    Ok(Json(api.daemon.cancel_plan(reference, by).await?))
}

pub(crate) async fn resume_plan(
    api: Api,
    Path(reference): Path<String>,
    JsonBody(request): JsonBody<PlanResumeRequest>,
) -> JsonResult<PlanView> {
    Ok(Json(api.daemon.resume_plan(reference, request).await?))
}

pub(crate) async fn list_worktrees(api: Api) -> JsonResult<WorktreesView> {
    Ok(Json(api.daemon.list_worktrees().await?))
}

pub(crate) async fn worktree_losses(
    api: Api,
    Path(reference): Path<String>,
) -> JsonResult<WorktreeLosses> {
    Ok(Json(api.daemon.worktree_losses(reference).await?))
}

pub(crate) async fn remove_worktree(
    api: Api,
    Path(reference): Path<String>,
    Params(RemoveQuery { force, by }): Params<RemoveQuery>,
) -> JsonResult<WorktreeLosses> {
    Ok(Json(api.daemon.remove_worktree(reference, force, by).await?))
}

pub(crate) async fn show_daemon(api: Api) -> JsonResult<DaemonView> {
    let view = api.daemon.describe().await?;
    Ok(Json(DaemonView { listen: api.access.view(), ..view }))
}

/// Shuts the daemon down. The shutdown continues if the client disconnects.
pub(crate) async fn stop_daemon(
    api: Api,
    JsonBody(request): JsonBody<ShutdownRequest>,
) -> HandlerResult<Response> {
    Ok(stream::respond(NDJSON, api.daemon.shut_down(&request)?))
}

pub(crate) async fn replace_daemon(
    api: Api,
    JsonBody(request): JsonBody<ReplaceRequest>,
) -> HandlerResult<StatusCode> {
    api.daemon.replace(request.program.unwrap_or_default()).await?;
    Ok(StatusCode::ACCEPTED)
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

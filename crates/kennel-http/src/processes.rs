//! Processes: adopt them, take their reports, send them signals and input, find and end strays.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kennel_daemon::ApiError;
use kennel_types::api::{
    AdoptRequest, AdoptResponse, EndStraysRequest, InputRequest, OsText, ReportRequest,
    SignalRequest, StraysEnded, StraysView,
};

use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::JsonBody;
use crate::unix_listener::Peer;

pub(crate) async fn adopt(
    State(api): State<Api>,
    peer: Peer,
    JsonBody(request): JsonBody<AdoptRequest>,
) -> HandlerResult<(StatusCode, Json<AdoptResponse>)> {
    Ok((StatusCode::CREATED, Json(api.daemon.adopt(request, peer.pid).await?)))
}

pub(crate) async fn report(
    State(api): State<Api>,
    peer: Peer,
    JsonBody(request): JsonBody<ReportRequest>,
) -> HandlerResult<StatusCode> {
    api.daemon.report(request, peer.pid).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn signal(
    State(api): State<Api>,
    Path(reference): Path<String>,
    JsonBody(SignalRequest { signal }): JsonBody<SignalRequest>,
) -> HandlerResult<StatusCode> {
    api.daemon.signal(reference, signal).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn input(
    State(api): State<Api>,
    Path(reference): Path<String>,
    JsonBody(InputRequest { hex, eof }): JsonBody<InputRequest>,
) -> HandlerResult<StatusCode> {
    let bytes = std::ffi::OsString::try_from(OsText::Bytes { hex }).map_err(ApiError::invalid)?;
    api.daemon.send_input(reference, bytes.as_encoded_bytes(), eof).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn find_strays(State(api): State<Api>) -> HandlerResult<Json<StraysView>> {
    Ok(Json(api.daemon.find_strays().await?))
}

pub(crate) async fn end_strays(
    State(api): State<Api>,
    JsonBody(request): JsonBody<EndStraysRequest>,
) -> HandlerResult<Json<StraysEnded>> {
    Ok(Json(api.daemon.end_strays(request).await?))
}

//! The daemon itself: show, stop, replace.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use kennel_types::api::{DaemonView, ReplaceRequest, ShutdownRequest};

use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::JsonBody;
use crate::stream::ndjson;

pub(crate) async fn show(State(api): State<Api>) -> HandlerResult<Json<DaemonView>> {
    let view = api.daemon.describe().await?;
    Ok(Json(DaemonView { listen: api.access.view(), ..view }))
}

/// If the client disconnects, the shutdown continues.
pub(crate) async fn stop(
    State(api): State<Api>,
    JsonBody(request): JsonBody<ShutdownRequest>,
) -> HandlerResult<Response> {
    let mut progress = api.daemon.shut_down(&request)?;
    Ok(ndjson::respond(move |context| {
        progress.poll_recv(context).map(|line| line.and_then(|line| ndjson::line(&line)))
    }))
}

pub(crate) async fn replace(
    State(api): State<Api>,
    JsonBody(request): JsonBody<ReplaceRequest>,
) -> HandlerResult<StatusCode> {
    api.daemon.replace(request.program.unwrap_or_default()).await?;
    Ok(StatusCode::ACCEPTED)
}

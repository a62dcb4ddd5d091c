//! Plans: run, list, show, wait, cancel, resume.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kennel_types::api::{ByRequest, PlanRequest, PlanResumeRequest};
use kennel_types::plan::PlanView;

use crate::access::Identity;
use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::{JsonBody, Params};
use crate::sessions::WaitQuery;

pub(crate) async fn list(State(api): State<Api>) -> HandlerResult<Json<Vec<PlanView>>> {
    Ok(Json(api.daemon.list_plans().await?))
}

pub(crate) async fn run(
    State(api): State<Api>,
    JsonBody(request): JsonBody<PlanRequest>,
) -> HandlerResult<(StatusCode, Json<PlanView>)> {
    Ok((StatusCode::CREATED, Json(api.daemon.run_plan(request).await?)))
}

pub(crate) async fn show(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> HandlerResult<Json<PlanView>> {
    Ok(Json(api.daemon.show_plan(reference).await?))
}

pub(crate) async fn wait(
    State(api): State<Api>,
    identity: Identity,
    Path(reference): Path<String>,
    Params(query): Params<WaitQuery>,
) -> HandlerResult<Json<PlanView>> {
    query.check(&identity)?;
    Ok(Json(api.daemon.wait_for_plan(reference, query.tied).await?))
}

pub(crate) async fn cancel(
    State(api): State<Api>,
    Path(reference): Path<String>,
    JsonBody(ByRequest { by }): JsonBody<ByRequest>,
) -> HandlerResult<Json<PlanView>> {
    Ok(Json(api.daemon.cancel_plan(reference, by).await?))
}

pub(crate) async fn resume(
    State(api): State<Api>,
    Path(reference): Path<String>,
    JsonBody(request): JsonBody<PlanResumeRequest>,
) -> HandlerResult<Json<PlanView>> {
    Ok(Json(api.daemon.resume_plan(reference, request).await?))
}

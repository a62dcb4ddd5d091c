//! Plans: run, listed, shown, waited for, cancelled, gone on with.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kennel_types::api::{ByRequest, PlanRequest, PlanResumeRequest};
use kennel_types::plan::PlanView;
use tokio::sync::oneshot;

use super::Api;
use super::access::Identity;
use super::body::{Body, Params};
use super::sessions::Tied;
use crate::error::ApiError;
use crate::owner::message::Command;
use crate::owner::{NewPlan, PlanCommand, resume_surroundings};

type Answered<T> = Result<Json<T>, ApiError>;

pub(super) async fn list(State(api): State<Api>) -> Answered<Vec<PlanView>> {
    api.ask(|answer| Command::Plan(PlanCommand::List { answer })).await.map(Json)
}

pub(super) async fn run(
    State(api): State<Api>,
    Body(request): Body<PlanRequest>,
) -> Result<(StatusCode, Json<PlanView>), ApiError> {
    let record = Box::new(NewPlan::new(request)?);
    let begun = api.ask(|answer| Command::Plan(PlanCommand::Run { record, answer })).await?;
    Ok((StatusCode::CREATED, Json(begun)))
}

pub(super) async fn show(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> Answered<PlanView> {
    api.ask(|answer| Command::Plan(PlanCommand::Show { reference, answer })).await.map(Json)
}

pub(super) async fn wait(
    State(api): State<Api>,
    identity: Identity,
    Path(reference): Path<String>,
    Params(Tied { tied }): Params<Tied>,
) -> Answered<PlanView> {
    if tied {
        // It ends with whoever waits, so that is no mere look.
        identity.may_change()?;
    }
    // If the client goes, this future is dropped, and the tether with it.
    let (holds, tether) = oneshot::channel();
    let tether = tied.then_some(tether);
    let wait = |answer| Command::Plan(PlanCommand::Wait { reference, tether, answer });
    let answer = api.ask(wait).await;
    holds.send(()).ok();
    answer.map(Json)
}

pub(super) async fn cancel(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Body(ByRequest { by }): Body<ByRequest>,
) -> Answered<PlanView> {
    api.ask(|answer| Command::Plan(PlanCommand::Cancel { reference, by, answer })).await.map(Json)
}

pub(super) async fn resume(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Body(mut request): Body<PlanResumeRequest>,
) -> Answered<PlanView> {
    let launch = Box::new(resume_surroundings(&mut request)?);
    let PlanResumeRequest { replay, tied, by, .. } = request;
    let resume =
        |answer| Command::Plan(PlanCommand::Resume { reference, replay, tied, by, launch, answer });
    api.ask(resume).await.map(Json)
}

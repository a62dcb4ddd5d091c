//! Members: listed, shown, added, removed.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kennel_types::api::{MemberAnswer, NewMember};
use serde::Deserialize;

use super::Api;
use super::body::{Body, Params};
use crate::error::ApiError;
use crate::owner::MemberCommand;
use crate::owner::message::Command;

type Answered<T> = Result<Json<T>, ApiError>;

pub(super) async fn list(State(api): State<Api>) -> Answered<Vec<MemberAnswer>> {
    api.ask(|answer| Command::Member(MemberCommand::List { answer })).await.map(Json)
}

pub(super) async fn show(
    State(api): State<Api>,
    Path(name): Path<String>,
) -> Answered<MemberAnswer> {
    api.ask(|answer| Command::Member(MemberCommand::Show { name, answer })).await.map(Json)
}

pub(super) async fn add(
    State(api): State<Api>,
    Body(member): Body<NewMember>,
) -> Result<(StatusCode, Json<MemberAnswer>), ApiError> {
    let added = api.ask(|answer| Command::Member(MemberCommand::Add { member, answer })).await?;
    Ok((StatusCode::CREATED, Json(added)))
}

/// How a member is removed.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct How {
    /// Even if it is busy.
    #[serde(default)]
    force: bool,
    /// Who asks, for the event log.
    #[serde(default)]
    by: String,
}

pub(super) async fn remove(
    State(api): State<Api>,
    Path(name): Path<String>,
    Params(How { force, by }): Params<How>,
) -> Result<StatusCode, ApiError> {
    let remove = |answer| Command::Member(MemberCommand::Remove { name, force, by, answer });
    api.ask(remove).await?;
    Ok(StatusCode::NO_CONTENT)
}

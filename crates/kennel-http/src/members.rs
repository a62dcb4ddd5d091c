//! Members: list, show, add, remove.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use kennel_types::api::{CreateMemberRequest, MemberView};
use serde::Deserialize;

use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::{JsonBody, Params};

pub(crate) async fn list(State(api): State<Api>) -> HandlerResult<Json<Vec<MemberView>>> {
    Ok(Json(api.daemon.list_members().await?))
}

pub(crate) async fn show(
    State(api): State<Api>,
    Path(name): Path<String>,
) -> HandlerResult<Json<MemberView>> {
    Ok(Json(api.daemon.show_member(name).await?))
}

pub(crate) async fn add(
    State(api): State<Api>,
    JsonBody(member): JsonBody<CreateMemberRequest>,
) -> HandlerResult<(StatusCode, Json<MemberView>)> {
    Ok((StatusCode::CREATED, Json(api.daemon.add_member(member).await?)))
}

/// How something is removed.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveQuery {
    /// Remove it even if it is in use or something is lost.
    #[serde(default)]
    pub(crate) force: bool,
    /// The client's name, for the event log.
    #[serde(default)]
    pub(crate) by: String,
}

pub(crate) async fn remove(
    State(api): State<Api>,
    Path(name): Path<String>,
    Params(RemoveQuery { force, by }): Params<RemoveQuery>,
) -> HandlerResult<StatusCode> {
    api.daemon.remove_member(name, force, by).await?;
    Ok(StatusCode::NO_CONTENT)
}

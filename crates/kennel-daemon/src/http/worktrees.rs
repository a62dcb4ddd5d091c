//! Worktrees: listed, looked through, removed.

use axum::Json;
use axum::extract::{Path, State};
use kennel_types::api::{WorktreeLosses, WorktreesView};
use serde::Deserialize;

use super::Api;
use super::body::Params;
use crate::error::ApiError;
use crate::owner::WorktreeCommand;
use crate::owner::message::Command;

/// How one shall be removed.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct How {
    /// Even if something is lost.
    #[serde(default)]
    force: bool,
    /// Who wants it, for the event log.
    #[serde(default)]
    by: String,
}

pub(super) async fn list(State(api): State<Api>) -> Result<Json<WorktreesView>, ApiError> {
    api.ask(|answer| Command::Worktree(WorktreeCommand::List { answer })).await.map(Json)
}

pub(super) async fn losses(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> Result<Json<WorktreeLosses>, ApiError> {
    let asked = |answer| Command::Worktree(WorktreeCommand::Losses { reference, answer });
    api.ask(asked).await.map(Json)
}

pub(super) async fn remove(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Params(How { force, by }): Params<How>,
) -> Result<Json<WorktreeLosses>, ApiError> {
    let asked =
        |answer| Command::Worktree(WorktreeCommand::Remove { reference, force, by, answer });
    api.ask(asked).await.map(Json)
}

//! Worktrees: list, show what would be lost, remove.

use axum::Json;
use axum::extract::{Path, State};
use kennel_types::api::{WorktreeLosses, WorktreesView};

use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::Params;
use crate::members::RemoveQuery;

pub(crate) async fn list(State(api): State<Api>) -> HandlerResult<Json<WorktreesView>> {
    Ok(Json(api.daemon.list_worktrees().await?))
}

pub(crate) async fn losses(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> HandlerResult<Json<WorktreeLosses>> {
    Ok(Json(api.daemon.worktree_losses(reference).await?))
}

pub(crate) async fn remove(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Params(RemoveQuery { force, by }): Params<RemoveQuery>,
) -> HandlerResult<Json<WorktreeLosses>> {
    Ok(Json(api.daemon.remove_worktree(reference, force, by).await?))
}

//! Requests about worktrees.

use kennel_types::api::{WorktreeLosses, WorktreesView};

use super::DaemonHandle;
use crate::error::ApiError;

impl DaemonHandle {
    pub async fn list_worktrees(&self) -> Result<WorktreesView, ApiError> {
        self.ask(|owner| Ok(owner.list_worktrees())).await
    }

    /// Returns what would be lost if a worktree were removed.
    pub async fn worktree_losses(&self, reference: String) -> Result<WorktreeLosses, ApiError> {
        self.request(move |owner, answer| owner.worktree_losses(&reference, answer)).await
    }

    /// Removes a worktree that is not in use; with `force` even if something is lost.
    pub async fn remove_worktree(
        &self,
        reference: String,
        force: bool,
        by: String,
    ) -> Result<WorktreeLosses, ApiError> {
        self.request(move |owner, answer| owner.remove_worktree(&reference, force, by, answer))
            .await
    }
}

//! Requests about worktrees.

use kennel_types::api::{WorktreeLosses, WorktreesView};

use super::DaemonHandle;
use crate::error::{Answer, ApiError};
use crate::owner::WorktreeCommand;
use crate::owner::message::Command;

impl DaemonHandle {
    async fn worktree<T>(
        &self,
        command: impl FnOnce(Answer<T>) -> WorktreeCommand,
    ) -> Result<T, ApiError> {
        self.request(|answer| Command::Worktree(command(answer))).await
    }

    /// The worktrees of all sessions.
    ///
    /// # Errors
    /// The daemon is shutting down.
    pub async fn list_worktrees(&self) -> Result<WorktreesView, ApiError> {
        self.worktree(|answer| WorktreeCommand::List { answer }).await
    }

    /// What would be lost if a worktree were removed.
    ///
    /// # Errors
    /// It is unknown or can't be examined.
    pub async fn worktree_losses(&self, reference: String) -> Result<WorktreeLosses, ApiError> {
        self.worktree(|answer| WorktreeCommand::Losses { reference, answer }).await
    }

    /// Removes a worktree; with `force` even if something is lost.
    ///
    /// # Errors
    /// It is unknown or in use, or something would be lost.
    pub async fn remove_worktree(
        &self,
        reference: String,
        force: bool,
        by: String,
    ) -> Result<WorktreeLosses, ApiError> {
        self.worktree(|answer| WorktreeCommand::Remove { reference, force, by, answer }).await
    }
}

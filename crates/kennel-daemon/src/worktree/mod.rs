//! Git worktrees of sessions.

pub(crate) mod tasks;
pub(crate) mod worktrees;

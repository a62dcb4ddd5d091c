//! Sessions in their own worktrees, with real git. The tests check git and the file system, not
//! Kennel's own reports.

mod crash;
mod docs;
mod failed_removal;
mod kept;
mod refusals;
mod relaunch;
mod removal;
mod repo;

pub(crate) use repo::Repo;

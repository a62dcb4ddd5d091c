//! Sessions in worktrees of their own, with real git. What is there is seen by git and by the file system, not by
//! Kennel's own word.

mod crash;
mod docs;
mod failed_removal;
mod kept;
mod refusals;
mod relaunch;
mod removal;
mod repo;

pub(crate) use repo::Repo;

//! Sessions in worktrees of their own, with real git. What is there is seen by git and by the file system, not by
//! Kennel's own word.

mod again;
mod crash;
mod docs;
mod ends;
mod kept;
mod refusals;
mod repo;
mod stubborn;

pub(crate) use repo::Repo;

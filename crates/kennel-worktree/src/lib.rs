//! Git worktrees for sessions: planned, recorded, created, inspected, removed.
//!
//! ```text
//! WorktreePlan::new ──► WorktreeRecord (stored by caller) ──► create ──► session runs ──► remove
//!    │                                                          │                           │
//!  PlanWorktreeError                               CreateWorktreeError       Gone, or Kept { why }
//! ```
//!
//! Everything after the plan needs only the [`WorktreeRecord`], may be repeated any number of
//! times, and continues from any state that a crash has left. [`remove`] never removes anything of
//! value: it inspects first ([`inspect`], [`keep_reasons`]), and what it can't inspect counts as
//! valuable. [`force_remove`] is for a user who has seen what would be lost ([`losses`]).
//!
//! The calls block. They run the real `git`, each time with limits. Two calls for one worktree wait
//! for each other; calls for different worktrees don't, except for git's own locks.

mod branch;
mod clear;
mod create;
mod disk_state;
mod findings;
mod folder;
mod git;
mod inspect;
mod keep_reason;
mod lock;
mod plan;
pub mod process;
mod record;
mod remove;

pub use branch::BranchOutcome;
pub use create::{CreateWorktreeError, CreatedWorktree, create};
pub use disk_state::{DiskState, ReadPathError};
pub use findings::{
    Commit, Findings, LostCommits, NestedRepository, NestedWorth, Operation, UncommittedChanges,
};
pub use folder::FolderError;
pub use git::{Git, GitError, GitLimits, Hooks};
pub use inspect::{InspectError, inspect};
pub use keep_reason::{KeepReason, keep_reasons};
pub use lock::LockError;
pub use plan::{Checkout, PlanWorktreeError, WorktreePlan, WorktreeRequest};
pub use record::WorktreeRecord;
pub use remove::{Losses, RemoveOutcome, RemoveWorktreeError, force_remove, losses, remove};

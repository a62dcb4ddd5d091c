//! A git worktree for a session: planned, recorded, made, judged, removed.
//!
//! ```text
//! Plan::new ──► Record (written down by the caller) ──► make ──► the session runs ──► remove
//!    │                                                   │                              │
//!  Refusal                                           MakeError                  Gone, or Kept { why }
//! ```
//!
//! Everything after the plan works from the [`Record`] alone, may be called any number of times, and finds
//! its way from whatever state a crash has left. What is of value is never removed by [`remove`]: it judges first
//! ([`judge`], [`value`]), and what could not be looked at counts as valuable. [`remove_anyway`] is for a person
//! who was told what would be lost ([`losses`]).
//!
//! The calls block; they drive the real `git`, each call of it within bounds. Two calls for one worktree wait for
//! each other; those for different ones don't, beyond git's own locks.

mod branch;
mod clear;
mod findings;
mod folder;
mod git;
mod judge;
mod lock;
mod losses;
mod make;
mod plan;
pub mod process;
mod record;
mod remove;
mod size;
mod standing;
mod value;

pub use branch::BranchFate;
pub use findings::{Changes, Commit, Commits, Findings, Head, Nested, NestedWorth, Operation};
pub use folder::FolderError;
pub use git::{Git, GitError, Hooks, Limits};
pub use judge::{JudgeError, judge};
pub use lock::LockError;
pub use losses::{Losses, losses};
pub use make::{Made, MakeError, make};
pub use plan::{Checkout, Plan, Refusal, Request, StartsFrom};
pub use record::Record;
pub use remove::{RemoveError, Removed, remove, remove_anyway};
pub use standing::{LookError, Standing};
pub use value::{Verdict, Why, value};

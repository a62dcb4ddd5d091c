//! Removes a worktree: inspects it, removes its files (`clear.rs`), deletes its branch, and finally
//! removes the lock file.

use std::io;
use std::path::PathBuf;

use crate::branch::{self, BranchDeletion, BranchOutcome};
use crate::clear;
use crate::disk_state::{DiskState, ReadPathError, exists};
use crate::findings::{LostCommits, UncommittedChanges};
use crate::folder::FolderError;
use crate::git::{Git, GitError};
use crate::inspect::{InspectError, inspect};
use crate::keep_reason::{KeepReason, keep_reasons};
use crate::lock::{self, LockError, MissingLock, WorktreeLock};
use crate::record::WorktreeRecord;

/// The result of removing a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum RemoveOutcome {
    /// It was removed; its branch may still exist.
    Gone {
        /// What happened to the branch.
        branch: BranchOutcome,
    },
    /// It was kept unchanged.
    Kept {
        /// The reasons; never empty.
        why: Vec<KeepReason>,
    },
}

/// A worktree could not be removed completely. The caller may retry.
#[derive(Debug, thiserror::Error)]
pub enum RemoveWorktreeError {
    #[error("can't inspect the worktree, so it is kept")]
    Inspect(#[from] InspectError),
    /// A file or folder in it can't be removed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("can't remove {0}")]
    Write(PathBuf, #[source] io::Error),
    #[error("the worktree was moved or replaced, so it is kept: {0}")]
    NotOurs(KeepReason),
    #[error(transparent)]
    Look(#[from] ReadPathError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// What a removal would destroy, or has destroyed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Every reason to keep the worktree.
    pub why: Vec<KeepReason>,
    pub changes: UncommittedChanges,
    /// The commits that no other branch has.
    pub commits: LostCommits,
    /// Why the worktree could not be inspected; then it may contain anything.
    pub unknown: Option<String>,
}

impl Losses {
    /// Returns whether it is certain that nothing would be lost.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.why.is_empty() && self.unknown.is_none()
    }
}

/// Returns what a removal of the worktree would destroy now.
#[must_use]
pub fn losses(git: &Git, record: &WorktreeRecord) -> Losses {
    match inspect(git, record) {
        Ok(found) => Losses {
            why: keep_reasons(&found),
            changes: found.changes,
            commits: found.commits,
            unknown: None,
        },
        Err(error) => Losses { unknown: Some(error.to_string()), ..Losses::default() },
    }
}

/// Removes the worktree of a record, unless it contains anything of value.
///
/// # Errors
/// See [`RemoveWorktreeError`]. The next call continues the removal.
pub fn remove(git: &Git, record: &WorktreeRecord) -> Result<RemoveOutcome, RemoveWorktreeError> {
    let lock = lock::take(&record.lock(), MissingLock::Leave, git.limits.locks)?;
    match DiskState::of(record)? {
        // At most a branch is left, which stays if it has commits. If our lock file exists, an
        // earlier call was interrupted.
        DiskState::Absent | DiskState::Unfinished | DiskState::BeingRemoved => {
            if lock.is_some() {
                branch::remove_stale_packed_refs_lock(record).map_err(GitError::Run)?;
            }
        }
        _ => {
            let why = keep_reasons(&inspect(git, record)?);
            if !why.is_empty() {
                return Ok(RemoveOutcome::Kept { why });
            }
        }
    }
    let branch = remove_all(git, record, lock, BranchDeletion::IfUnused)?;
    Ok(RemoveOutcome::Gone { branch })
}

/// Removes the worktree of a record with everything in it, for a user who has seen what would be
/// lost ([`losses`]). Returns what was lost.
///
/// # Errors
/// See [`RemoveWorktreeError`]. A worktree that was moved or replaced is kept.
pub fn force_remove(git: &Git, record: &WorktreeRecord) -> Result<Losses, RemoveWorktreeError> {
    let lock = lock::take(&record.lock(), MissingLock::Leave, git.limits.locks)?;
    match DiskState::of(record)? {
        DiskState::Moved(to) => return Err(RemoveWorktreeError::NotOurs(KeepReason::Moved(to))),
        DiskState::Replaced => return Err(RemoveWorktreeError::NotOurs(KeepReason::Replaced)),
        _ => {}
    }
    let losses = losses(git, record);
    remove_all(git, record, lock, BranchDeletion::Force).map(|_branch| losses)
}

fn remove_all(
    git: &Git,
    record: &WorktreeRecord,
    lock: Option<WorktreeLock>,
    deletion: BranchDeletion,
) -> Result<BranchOutcome, RemoveWorktreeError> {
    clear::clear(record)?;
    let has_repository = exists(&record.repo)?;
    branch::remove_stale_lock(record).map_err(GitError::Run)?;
    let outcome =
        if has_repository { branch::delete(git, record, deletion)? } else { BranchOutcome::Absent };
    clear::finish(record)?;
    if let Some(lock) = lock {
        lock.remove().map_err(|error| RemoveWorktreeError::Write(record.lock(), error))?;
    }
    Ok(outcome)
}

//! Removing a worktree.
//!
//! Judged, cleared away (`clear.rs`), its branch deleted; at last the lock file goes.

use std::io;
use std::path::PathBuf;

use crate::branch::{self, BranchFate, Deletion};
use crate::clear;
use crate::folder::FolderError;
use crate::git::{Git, GitError};
use crate::judge::{JudgeError, judge};
use crate::lock::{self, Held, IfMissing, LockError};
use crate::losses::Losses;
use crate::record::Record;
use crate::standing::{Kind, LookError, Standing};
use crate::value::{Verdict, Why, value};

/// What came of removing a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Removed {
    /// Nothing of it is left, unless its branch is.
    Gone {
        /// What became of the branch.
        branch: BranchFate,
    },
    /// It was left as it is.
    Kept {
        /// Why; never empty.
        why: Vec<Why>,
    },
}

/// Why a worktree could not be removed, or not wholly. It may be tried again.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// It can't be told what is in it, so it is kept.
    #[error("it can't be told what is in the worktree, so it is kept")]
    Judge(#[from] JudgeError),
    /// Something in it can't be removed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file or folder of ours can't be changed.
    #[error("can't change {path}")]
    Write {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is at a place where somebody else has put it, or not the worktree any more.
    #[error("the worktree is not where it was made, and is left alone: {0}")]
    NotOurs(Why),
    /// A look failed.
    #[error(transparent)]
    Look(#[from] LookError),
    /// Another call is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Removes the worktree of a record, unless something in it is of value.
///
/// # Errors
/// See [`RemoveError`]; what is left is found by the next call.
pub fn remove(git: &Git, record: &Record) -> Result<Removed, RemoveError> {
    let lock = lock::take(&record.lock(), IfMissing::Leave, git.limits.locks)?;
    match Standing::of(record)? {
        // Only a branch is left of it, at most, or will be; that stays if it has commits.
        // That our own lock file is there says that somebody was interrupted before.
        Standing::Absent | Standing::Unfinished | Standing::Condemned => {
            if lock.is_some() {
                branch::settle_packed_lock(record).map_err(GitError::Run)?;
            }
        }
        _ => {
            if let Verdict::Valuable(why) = value(&judge(git, record)?) {
                return Ok(Removed::Kept { why });
            }
        }
    }
    let branch = carry_out(git, record, lock, Deletion::IfEmpty)?;
    Ok(Removed::Gone { branch })
}

/// Removes the worktree of a record with all that is in it, for somebody who was told; see [`losses`](crate::losses).
/// Returns what was lost.
///
/// # Errors
/// See [`RemoveError`]. A worktree that somebody has moved, or made another repository's, is left alone.
pub fn remove_anyway(git: &Git, record: &Record) -> Result<Losses, RemoveError> {
    let lock = lock::take(&record.lock(), IfMissing::Leave, git.limits.locks)?;
    match Standing::of(record)? {
        Standing::Moved(to) => return Err(RemoveError::NotOurs(Why::Moved(to))),
        Standing::Replaced => return Err(RemoveError::NotOurs(Why::Replaced)),
        _ => {}
    }
    let losses = crate::losses::losses(git, record);
    carry_out(git, record, lock, Deletion::Anyway).map(|_fate| losses)
}

fn carry_out(
    git: &Git,
    record: &Record,
    lock: Option<Held>,
    deletion: Deletion,
) -> Result<BranchFate, RemoveError> {
    clear::clear(record)?;
    let is_there = Kind::of(&record.repo)? != Kind::None;
    branch::settle_lock(record).map_err(GitError::Run)?;
    let fate = if is_there { branch::delete(git, record, deletion)? } else { BranchFate::Absent };
    clear::finish(record)?;
    if let Some(lock) = lock {
        let path = record.lock();
        lock.remove().map_err(|source| RemoveError::Write { path, source })?;
    }
    Ok(fate)
}

//! Inspects a worktree.

mod changes;
mod commits;
mod nested;

use std::path::Path;

use crate::branch;
use crate::disk_state::{DiskState, ReadPathError, exists, lock_reason};
use crate::findings::{Findings, Operation};
use crate::git::{Git, GitCall, GitError};
use crate::record::WorktreeRecord;

pub(crate) use commits::base_is_checked_out;

/// A worktree could not be inspected. It may contain anything, so it is kept.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Look(#[from] ReadPathError),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Inspects everything in a worktree, and changes nothing.
///
/// # Errors
/// A part of it could not be inspected.
pub fn inspect(git: &Git, record: &WorktreeRecord) -> Result<Findings, InspectError> {
    let mut found = Findings { state: DiskState::of(record)?, ..Findings::default() };
    match found.state {
        DiskState::Complete => {
            found.changes = changes::find(git, record)?;
            found.nested = nested::find(git, record)?;
            inspect_entry(git, record, &mut found)?;
        }
        // The entry may still have a commit or a lock.
        DiskState::FolderGone => inspect_entry(git, record, &mut found)?,
        // Its branch may have commits from elsewhere.
        DiskState::Absent | DiskState::Unfinished | DiskState::BeingRemoved => {
            if exists(&record.repo)? {
                found.commits = commits::find(git, record, None)?;
            }
        }
        // The state itself is a reason to keep it.
        DiskState::Moved(_)
        | DiskState::Replaced
        | DiskState::Unregistered
        | DiskState::RepositoryGone
        | DiskState::ParentGone => {}
    }
    Ok(found)
}

fn inspect_entry(
    git: &Git,
    record: &WorktreeRecord,
    found: &mut Findings,
) -> Result<(), InspectError> {
    let entry = record.entry();
    found.locked = lock_reason(&entry)?;
    found.operation = operation(&entry)?;
    found.own_refs = own_refs(git, record)?;
    found.commits = commits::find(git, record, detached_head(git, record)?.as_deref())?;
    Ok(())
}

/// Starts a read-only call that uses the worktree's own `HEAD` and index.
fn read<'a>(git: &'a Git, record: &WorktreeRecord, verb: &str) -> GitCall<'a> {
    git.read(verb).on(&record.entry())
}

fn operation(entry: &Path) -> Result<Option<Operation>, ReadPathError> {
    const SIGNS: [(&str, Operation); 8] = [
        ("rebase-merge", Operation::Rebase),
        ("rebase-apply", Operation::Rebase),
        ("REBASE_HEAD", Operation::Rebase),
        ("MERGE_HEAD", Operation::Merge),
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
        ("sequencer", Operation::CherryPick),
        ("BISECT_LOG", Operation::Bisect),
    ];
    for (sign, operation) in SIGNS {
        if exists(&entry.join(sign))? {
            return Ok(Some(operation));
        }
    }
    Ok(None)
}

/// Returns the commit that is checked out without a branch.
fn detached_head(git: &Git, record: &WorktreeRecord) -> Result<Option<String>, GitError> {
    let branch = read(git, record, "symbolic-ref").args(["--quiet", "HEAD"]).text_if_found()?;
    if branch.is_some() {
        return Ok(None);
    }
    read(git, record, "rev-parse").args(["--verify", "HEAD^{commit}"]).text().map(Some)
}

fn own_refs(git: &Git, record: &WorktreeRecord) -> Result<u64, GitError> {
    let list = read(git, record, "for-each-ref").args(["--format=%(refname)", "refs/worktree"]);
    Ok(list.text()?.lines().count() as u64)
}

/// Returns the last commit of the session's branch, if the branch would be deleted with the
/// worktree.
fn branch_to_delete(git: &Git, record: &WorktreeRecord) -> Result<Option<String>, GitError> {
    match branch::tip(git, record)? {
        Some(tip) if branch::is_ours(git, record)? => Ok(Some(tip)),
        _ => Ok(None),
    }
}

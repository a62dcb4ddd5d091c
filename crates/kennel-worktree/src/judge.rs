//! Gathering what there is in a worktree.

mod changes;
mod commits;
mod nested;

use std::path::Path;

use crate::branch;
use crate::findings::{Findings, Head, Operation};
use crate::git::{Call, Git, GitError};
use crate::record::Record;
use crate::standing::{Kind, LookError, Standing, lock_reason};

pub(crate) use commits::base_is_checked_out;

/// Why a worktree could not be judged. That says nothing about what is in it: it is kept.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// A look failed.
    #[error(transparent)]
    Look(#[from] LookError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Looks at everything in a worktree, and changes nothing.
///
/// # Errors
/// Something could not be looked at.
pub fn judge(git: &Git, record: &Record) -> Result<Findings, JudgeError> {
    let mut found = Findings::nothing(Standing::of(record)?);
    match found.standing {
        Standing::Whole => {
            found.changes = changes::find(git, record)?;
            found.nested = nested::find(git, record)?;
            look_at_entry(git, record, &mut found)?;
        }
        // The entry may still hold a commit, or be locked.
        Standing::FolderGone => look_at_entry(git, record, &mut found)?,
        // Its branch may have got commits from elsewhere.
        Standing::Absent | Standing::Unfinished | Standing::Condemned => {
            if Kind::of(&record.repo)? != Kind::None {
                found.commits = commits::find(git, record, None)?;
            }
        }
        // Reason enough to keep it.
        Standing::Moved(_)
        | Standing::Replaced
        | Standing::Unregistered
        | Standing::RepositoryGone
        | Standing::PlaceGone => {}
    }
    Ok(found)
}

fn look_at_entry(git: &Git, record: &Record, found: &mut Findings) -> Result<(), JudgeError> {
    let entry = record.entry();
    found.locked = lock_reason(&entry)?;
    found.operation = operation(&entry)?;
    found.head = head(git, record)?;
    found.own_refs = own_refs(git, record)?;
    found.stashes = stashes(git, record)?;
    let detached = match &found.head {
        Head::Detached(commit) => Some(commit.as_str()),
        Head::Branch(_) | Head::Unknown => None,
    };
    found.commits = commits::find(git, record, detached)?;
    Ok(())
}

/// A look at the worktree: its own `HEAD` and index, not the main checkout's.
fn look<'a>(git: &'a Git, record: &Record, verb: &str) -> Call<'a> {
    git.look(verb).on(&record.entry())
}

fn operation(entry: &Path) -> Result<Option<Operation>, LookError> {
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
        if Kind::of(&entry.join(sign))? != Kind::None {
            return Ok(Some(operation));
        }
    }
    Ok(None)
}

fn head(git: &Git, record: &Record) -> Result<Head, GitError> {
    if let Some(name) = look(git, record, "symbolic-ref").args(["--quiet", "HEAD"]).text_if_any()? {
        let name = name.strip_prefix("refs/heads/").map_or(name.clone(), ToOwned::to_owned);
        return Ok(Head::Branch(name));
    }
    let commit = look(git, record, "rev-parse").args(["--verify", "HEAD^{commit}"]).text()?;
    Ok(Head::Detached(commit))
}

fn own_refs(git: &Git, record: &Record) -> Result<u64, GitError> {
    let list = look(git, record, "for-each-ref").args(["--format=%(refname)", "refs/worktree"]);
    Ok(list.text()?.lines().count() as u64)
}

/// Git names the branch in a stash's message: `WIP on x: …`, `On x: …`.
fn stashes(git: &Git, record: &Record) -> Result<u64, GitError> {
    let has_any = git.look("rev-parse").args(["--quiet", "--verify", "refs/stash"]);
    if has_any.on(&record.repo).text_if_any()?.is_none() {
        return Ok(0);
    }
    let log = git.look("log").args(["-g", "--format=%gs", "refs/stash", "--"]).on(&record.repo);
    let sign = format!("on {}:", record.branch);
    let is_own = |line: &&str| {
        line.strip_prefix("WIP ").unwrap_or(line).to_lowercase().starts_with(&sign.to_lowercase())
    };
    Ok(log.most_output(16 * 1024 * 1024).text()?.lines().filter(is_own).count() as u64)
}

/// Whether the session's branch, if it is there, would go with the worktree.
fn branch_goes(git: &Git, record: &Record) -> Result<Option<String>, GitError> {
    match branch::tip(git, record)? {
        Some(tip) if branch::is_ours(git, record)? => Ok(Some(tip)),
        _ => Ok(None),
    }
}

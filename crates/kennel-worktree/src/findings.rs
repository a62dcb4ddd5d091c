//! The result of inspecting a worktree: facts without a decision.

use std::path::PathBuf;

use crate::disk_state::DiskState;

/// Everything that an inspection found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// What exists on the disk.
    pub state: DiskState,
    pub changes: UncommittedChanges,
    /// The git operation in progress.
    pub operation: Option<Operation>,
    /// The commits that would be lost: those of the session's own branch and of a detached `HEAD`
    /// that no other branch, tag or remote has.
    pub commits: LostCommits,
    /// The reason of git's lock on it, if it is locked.
    pub locked: Option<String>,
    /// The repositories and worktrees in it.
    pub nested: Vec<NestedRepository>,
    /// The number of references that only this worktree has (`refs/worktree/…`).
    pub own_refs: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UncommittedChanges {
    /// Files with changes in the index.
    pub staged: u64,
    /// Files with changes that are not in the index.
    pub modified: u64,
    /// Files that git neither tracks nor ignores.
    pub untracked: u64,
    /// Files with conflicts.
    pub conflicted: u64,
    /// Submodules with other commits or changes.
    pub submodules: u64,
    /// Files whose changes git ignores (`--assume-unchanged`, `--skip-worktree`).
    pub hidden: u64,
    /// The paths of the first few.
    pub some: Vec<PathBuf>,
    /// Whether there are more than the counts include.
    pub more: bool,
}

impl UncommittedChanges {
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.count() == 0 && !self.more
    }

    /// Returns the number of changes, without those that were not counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        let Self { staged, modified, untracked, conflicted, submodules, hidden, .. } = self;
        staged + modified + untracked + conflicted + submodules + hidden
    }
}

/// A git operation in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Merge,
    /// A rebase, or `git am`.
    Rebase,
    CherryPick,
    Revert,
    Bisect,
}

/// The commits that would be lost with a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostCommits {
    pub count: u64,
    /// The newest ones.
    pub newest: Vec<Commit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// A repository or worktree inside a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedRepository {
    /// Its folder, relative to the worktree.
    pub path: PathBuf,
    /// What it contains.
    pub worth: NestedWorth,
}

/// What a nested repository contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NestedWorth {
    /// Nothing that its remotes don't have.
    Nothing,
    /// It is a worktree, of this or another repository.
    Worktree,
    /// Uncommitted changes.
    Changes,
    /// This many commits that no remote has.
    Commits(u64),
    /// Unknown, because of this error.
    Unknown(String),
}

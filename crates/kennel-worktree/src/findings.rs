//! What was found in a worktree: facts, no opinion.

use std::path::PathBuf;

use crate::standing::Standing;

/// Everything that was found in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// What of it is on disk.
    pub standing: Standing,
    /// What is checked out.
    pub head: Head,
    /// What is not committed.
    pub changes: Changes,
    /// What is under way.
    pub operation: Option<Operation>,
    /// The commits that would be lost: of the session's own branch and of a detached `HEAD`, as far as they are on no
    /// other branch, tag or remote.
    pub commits: Commits,
    /// Why somebody has locked it.
    pub locked: Option<String>,
    /// Repositories and worktrees in it.
    pub nested: Vec<Nested>,
    /// References that only this worktree has (`refs/worktree/…`).
    pub own_refs: u64,
    /// Stashes made on its branch. They are the repository's, and stay.
    pub stashes: u64,
}

/// What is checked out in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// This branch; another one than the record's, perhaps.
    Branch(String),
    /// A commit without a branch.
    Detached(String),
    /// Not known: there is no worktree.
    Unknown,
}

/// What is not committed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files with changes in the index.
    pub staged: u64,
    /// Files with changes that are not in the index.
    pub modified: u64,
    /// Files that git doesn't know, and was not told to ignore.
    pub untracked: u64,
    /// Files with conflicts.
    pub conflicted: u64,
    /// Submodules with other commits or changes.
    pub submodules: u64,
    /// Files whose changes git was told not to see (`--assume-unchanged`, `--skip-worktree`).
    pub hidden: u64,
    /// The first few of all these.
    pub some: Vec<PathBuf>,
    /// Whether there are more than were counted.
    pub more: bool,
}

impl Changes {
    /// Whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.count() == 0 && !self.more
    }

    /// How many, at least.
    #[must_use]
    pub fn count(&self) -> u64 {
        let Self { staged, modified, untracked, conflicted, submodules, hidden, .. } = self;
        staged + modified + untracked + conflicted + submodules + hidden
    }
}

/// Something that git is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A merge.
    Merge,
    /// A rebase, or patches being applied.
    Rebase,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisection.
    Bisect,
}

/// Commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commits {
    /// How many.
    pub count: u64,
    /// The newest of them.
    pub newest: Vec<Commit>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// A repository or worktree in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nested {
    /// Its folder, within the worktree.
    pub path: PathBuf,
    /// Whether something is in it.
    pub worth: NestedWorth,
}

/// What a nested repository is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NestedWorth {
    /// Everything in it is at its remotes.
    Nothing,
    /// It is the worktree of another repository, or another worktree of this one.
    Worktree,
    /// It has changes that are not committed.
    Changes,
    /// It has this many commits that are at none of its remotes.
    Commits(u64),
    /// It could not be looked at.
    Unknown(String),
}

impl Findings {
    /// Nothing was found.
    #[must_use]
    pub fn nothing(standing: Standing) -> Self {
        Self {
            standing,
            head: Head::Unknown,
            changes: Changes::default(),
            operation: None,
            commits: Commits::default(),
            locked: None,
            nested: Vec::new(),
            own_refs: 0,
            stashes: 0,
        }
    }
}

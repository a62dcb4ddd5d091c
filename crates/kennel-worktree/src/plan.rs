//! Plans a worktree: inspects the repository and the location, and creates nothing.

mod branch;
mod location;
mod repository;

pub(crate) use location::{FreeSpace, checkout_size};

use std::path::{Path, PathBuf};

use crate::disk_state::ReadPathError;
use crate::git::{Git, GitError, MIN_VERSION};
use crate::record::WorktreeRecord;

#[derive(Debug, Clone, Copy)]
pub struct WorktreeRequest<'a> {
    /// The user's current folder: in a checkout, or a bare repository.
    pub folder: &'a Path,
    /// The parent folder of worktrees. It is absolute, and created if it doesn't exist.
    pub parent: &'a Path,
    /// The session's id: letters, digits and dashes.
    pub session: &'a str,
    /// The branch; `None` creates one that is named after the session.
    pub branch: Option<&'a str>,
    /// The first commit of a new branch; `None` for `HEAD` of the folder.
    pub base: Option<&'a str>,
}

/// A planned worktree, with what the user may want to know about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePlan {
    /// The record, which the caller stores before [`create`](crate::create).
    pub record: WorktreeRecord,
    /// The state of the user's own checkout.
    pub checkout: Checkout,
}

/// The state of the user's own checkout. A worktree starts from a commit, so it doesn't include
/// uncommitted changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Checkout {
    /// It has no changes.
    Clean,
    /// It has uncommitted changes, which will not be in the worktree.
    Dirty,
    /// A bare repository has no files.
    Bare,
    /// Git failed, or exceeded its time limit.
    Unknown,
}

/// A worktree can't be planned. Nothing was created.
#[derive(Debug, thiserror::Error)]
pub enum PlanWorktreeError {
    #[error("{folder} is not in a git repository; start in one, or without a worktree")]
    NotARepository { folder: PathBuf },
    #[error("can't read the folder {folder}")]
    Folder { folder: PathBuf, source: std::io::Error },
    #[error("git does not trust the repository at {folder}: {message}")]
    DubiousOwner {
        folder: PathBuf,
        /// Git's message, with what to do.
        message: String,
    },
    #[error("the repository {repo} has no commit yet; a worktree needs one")]
    NoCommit { repo: PathBuf },
    #[error("git {}.{} is too old: at least {}.{} is needed", found.0, found.1, MIN_VERSION.0, MIN_VERSION.1)]
    GitTooOld { found: (u32, u32) },
    #[error("invalid branch name {branch:?}; see `git help check-ref-format`")]
    BranchName { branch: String },
    #[error(
        "the branch {branch} is checked out at {at}; choose another one, or omit it for a new one"
    )]
    BranchInUse { branch: String, at: PathBuf },
    #[error(
        "can't create the branch {branch} while the branch {other} exists; choose another name"
    )]
    BranchConflict { branch: String, other: String },
    #[error("the branch {branch} exists, so it can't start from {base}; omit one of them")]
    BranchExists { branch: String, base: String },
    #[error("several remotes have the branch {branch} ({remotes}); choose the first commit")]
    SeveralRemotes { branch: String, remotes: String },
    #[error("{repo} has no commit {base:?}")]
    NoSuchBase { base: String, repo: PathBuf },
    #[error("can't create worktrees in {parent}: {why}")]
    Location { parent: PathBuf, why: String },
    #[error("{path} already exists")]
    Taken { path: PathBuf },
    #[error("invalid session id {session:?}: expected letters, digits and dashes")]
    Session { session: String },
    #[error(transparent)]
    Look(#[from] ReadPathError),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl WorktreePlan {
    /// Plans a worktree, and creates nothing.
    ///
    /// # Errors
    /// See [`PlanWorktreeError`].
    pub fn new(git: &Git, request: &WorktreeRequest<'_>) -> Result<Self, PlanWorktreeError> {
        let found = git.version()?;
        if found < MIN_VERSION {
            return Err(PlanWorktreeError::GitTooOld { found });
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if request.session.is_empty() || !request.session.bytes().all(is_plain) {
            return Err(PlanWorktreeError::Session { session: request.session.to_owned() });
        }
        let repository = repository::find(git, request.folder)?;
        let chosen = branch::choose(git, &repository, request)?;
        let size = checkout_size(git, &repository.common, &chosen.base).unwrap_or_default();
        let path = location::choose(request.parent, &repository.name(), request.session, size)?;
        let record = WorktreeRecord {
            session: request.session.to_owned(),
            path,
            branch: chosen.branch,
            branch_created: chosen.is_new,
            base: chosen.base,
            subfolder: repository.subfolder.clone(),
            repo: repository.common,
        };
        for path in [&record.path, &record.entry(), &record.lock(), &record.removal_folder()] {
            location::must_be_free(path)?;
        }
        let checkout = if repository.has_files {
            repository::checkout(git, request.folder)
        } else {
            Checkout::Bare
        };
        Ok(Self { record, checkout })
    }
}

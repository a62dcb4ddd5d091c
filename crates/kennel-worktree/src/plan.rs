//! Deciding on a worktree: a look at the repository and the place, nothing made.

mod branch;
mod place;
mod repository;

pub(crate) use place::Room;

use std::path::{Path, PathBuf};

use crate::git::{Git, GitError, OLDEST};
use crate::record::Record;
use crate::size;
use crate::standing::LookError;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The folder that the user stands in: of a checkout, below one, or a bare repository.
    pub folder: &'a Path,
    /// The folder for worktrees, absolute; made if it is not there.
    pub place: &'a Path,
    /// The session's id: letters, digits and dashes.
    pub session: &'a str,
    /// The branch; none: one is made and named for the session.
    pub branch: Option<&'a str>,
    /// The commit that a new branch starts from; none: the folder's `HEAD`.
    pub base: Option<&'a str>,
}

/// What will be made, and what the user may want to know before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// To be written down before [`make`](crate::make).
    pub record: Record,
    /// Where the worktree's first commit comes from.
    pub starts_from: StartsFrom,
    /// What the user has in the folder they stand in.
    pub checkout: Checkout,
}

/// Where a worktree's first commit comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartsFrom {
    /// `HEAD` of the folder that the user stands in.
    Head,
    /// The branch that was asked for, and is there.
    Branch,
    /// The branch of that name of this remote (`origin/x`), as git itself does it.
    Remote(String),
    /// The commit that was asked for.
    Given,
}

/// What the user has in the folder they stand in. A worktree starts from a commit, so changes are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Checkout {
    /// Nothing but what is committed.
    Clean,
    /// Changes that are not committed; they will not be in the worktree.
    Dirty,
    /// No files at all: a bare repository.
    Bare,
    /// Git could not tell, or not in time.
    Unknown,
}

/// Why no worktree is made. Nothing was.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Not a repository.
    #[error("{folder} is not in a git repository; start in one, or without a worktree")]
    NotARepository {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder is not there or can't be entered.
    #[error("{folder} can't be entered")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The repository is another user's, and git does not trust it.
    #[error("git does not trust the repository at {folder}: {said}")]
    DubiousOwner {
        /// The folder.
        folder: PathBuf,
        /// Git's own words, with the remedy.
        said: String,
    },
    /// There is nothing to start from.
    #[error("the repository {repo} has no commit yet to start a worktree from; make one first")]
    NoCommit {
        /// The repository.
        repo: PathBuf,
    },
    /// Git is too old.
    #[error("git is version {}.{}, and at least {}.{} is needed", found.0, found.1, OLDEST.0, OLDEST.1)]
    GitTooOld {
        /// What was found.
        found: (u32, u32),
    },
    /// Git does not allow such a name.
    #[error("{branch:?} can't be the name of a branch; see `git help check-ref-format`")]
    BranchName {
        /// The name.
        branch: String,
    },
    /// The branch is checked out elsewhere; two sessions never share a worktree.
    #[error("the branch {branch} is checked out at {at}; name another one, or none for a new one")]
    BranchInUse {
        /// The branch.
        branch: String,
        /// The other worktree.
        at: PathBuf,
    },
    /// A branch of such a name forbids this one.
    #[error("the branch {branch} can't be made while there is a branch {other}; name another one")]
    BranchInTheWay {
        /// The branch.
        branch: String,
        /// The one that is there.
        other: String,
    },
    /// A start was given for a branch that has its own.
    #[error(
        "the branch {branch} is there already, so it can't start from {base}; leave out one of both"
    )]
    BranchHasItsBase {
        /// The branch.
        branch: String,
        /// What was given.
        base: String,
    },
    /// Several remotes have such a branch.
    #[error(
        "the branch {branch} is at several remotes ({remotes}); say from which commit to start"
    )]
    SeveralRemotes {
        /// The branch.
        branch: String,
        /// The remotes.
        remotes: String,
    },
    /// No such commit.
    #[error("{base:?} is no commit of {repo}")]
    NoSuchBase {
        /// What was given.
        base: String,
        /// The repository.
        repo: PathBuf,
    },
    /// The place can't be used.
    #[error("worktrees can't be put at {place}: {why}")]
    Place {
        /// The place.
        place: PathBuf,
        /// Why.
        why: String,
    },
    /// There is something already.
    #[error("there is something at {path} already")]
    Taken {
        /// Where.
        path: PathBuf,
    },
    /// The id can't be part of a name.
    #[error("{session:?} can't be a session's id: letters, digits and dashes")]
    Session {
        /// The id.
        session: String,
    },
    /// A look failed.
    #[error(transparent)]
    Look(#[from] LookError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Plan {
    /// Decides on a worktree, and makes nothing.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn new(git: &Git, request: &Request<'_>) -> Result<Self, Refusal> {
        let found = git.version()?;
        if found < OLDEST {
            return Err(Refusal::GitTooOld { found });
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if request.session.is_empty() || !request.session.bytes().all(is_plain) {
            return Err(Refusal::Session { session: request.session.to_owned() });
        }
        let repository = repository::find(git, request.folder)?;
        let chosen = branch::choose(git, &repository, request)?;
        let size = size::of_checkout(git, &repository.common, &chosen.base).unwrap_or_default();
        let path = place::choose(request.place, &repository.name(), request.session, size)?;
        let record = Record {
            session: request.session.to_owned(),
            path,
            branch: chosen.branch,
            branch_created: chosen.is_new,
            base: chosen.base,
            subfolder: repository.subfolder.clone(),
            repo: repository.common,
        };
        for path in [&record.path, &record.entry(), &record.lock(), &record.condemned()] {
            place::must_be_free(path)?;
        }
        let checkout = if repository.has_files {
            repository::checkout(git, request.folder)
        } else {
            Checkout::Bare
        };
        Ok(Self { record, starts_from: chosen.starts_from, checkout })
    }
}

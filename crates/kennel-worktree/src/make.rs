//! Making a worktree.
//!
//! The worktree is locked, in git's own sense, from its first file until it is whole: so one that is not is known by
//! that, `git worktree prune` leaves it alone, and it is thrown away and made anew without a question.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::branch::{self, Created};
use crate::clear;
use crate::folder::FolderError;
use crate::git::{Git, GitError, Pauses};
use crate::lock::{self, Held, IfMissing, LockError};
use crate::plan::Room;
use crate::process::Said;
use crate::record::Record;
use crate::size;
use crate::standing::{Kind, LookError, Standing};

/// A worktree that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its folder.
    pub path: PathBuf,
    /// Where in it the session starts: the same folder as the user's, if the commit has such a one.
    pub cwd: PathBuf,
    /// The folders of submodules. They are empty, as git leaves them: to fill them may need the network, and what is
    /// committed in them would go with the worktree. `git submodule update --init` fills them.
    pub submodules: Vec<String>,
    /// What git and the user's hooks said.
    pub said: String,
    /// The exit code of a `post-checkout` hook that failed. As for git itself, the worktree is there all the same.
    pub hook_failed: Option<i32>,
}

/// Why a worktree was not made. What there is of it, [`remove`](crate::remove) removes.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// Somebody made such a branch since the plan.
    #[error("a branch {branch} was made by somebody else meanwhile; start again with another name")]
    BranchTaken {
        /// The branch.
        branch: String,
    },
    /// The repository was removed or moved since the plan.
    #[error("the repository {path} is not there any more")]
    NoRepository {
        /// Where it was.
        path: PathBuf,
    },
    /// Something else is there since the plan.
    #[error("there is something else at {path} by now")]
    Taken {
        /// Where.
        path: PathBuf,
    },
    /// Somebody has changed it.
    #[error("the worktree {path} can't be made: it is {standing:?}")]
    Standing {
        /// Where.
        path: PathBuf,
        /// What it is.
        standing: Standing,
    },
    /// The disk is full.
    #[error("no room left on the disk of {path} for a worktree: {said}")]
    NoRoom {
        /// Where.
        path: PathBuf,
        /// Git's words.
        said: String,
    },
    /// A file or folder of ours could not be made or removed.
    #[error("can't write {path}")]
    Write {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The rest of an earlier attempt could not be removed.
    #[error(transparent)]
    Folder(#[from] FolderError),
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

/// Makes the worktree of a record; if it is there already, nothing is changed.
///
/// # Errors
/// See [`MakeError`].
pub fn make(git: &Git, record: &Record) -> Result<Made, MakeError> {
    if Kind::of(&record.repo)? == Kind::None {
        return Err(MakeError::NoRepository { path: record.repo.clone() });
    }
    let lock = lock_anew(git, record)?;
    let added = match Standing::of(record)? {
        Standing::Whole => Added::default(),
        Standing::Absent => add(git, record, &lock)?,
        // No session has run in either.
        Standing::Unfinished | Standing::Condemned => {
            clear::clear(record)?;
            clear::finish(record)?;
            branch::settle_lock(record).map_err(GitError::Run)?;
            branch::settle_packed_lock(record).map_err(GitError::Run)?;
            add(git, record, &lock)?
        }
        Standing::Unregistered => return Err(MakeError::Taken { path: record.path.clone() }),
        standing => return Err(MakeError::Standing { path: record.path.clone(), standing }),
    };
    let cwd = record.cwd();
    let submodules = submodules(git, record)?;
    let Added { said, hook_failed } = added;
    Ok(Made { path: record.path.clone(), cwd, submodules, said, hook_failed })
}

/// Takes the lock, which is the first thing that is made.
fn lock_anew(git: &Git, record: &Record) -> Result<Held, MakeError> {
    let path = record.lock();
    if let Some(place) = path.parent() {
        let failed = |source| MakeError::Write { path: place.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(place).map_err(failed)?;
    }
    let held = lock::take(&path, IfMissing::Make, git.limits.locks)?;
    let none = || LockError::Open { path, source: io::ErrorKind::NotFound.into() };
    Ok(held.ok_or_else(none)?)
}

#[derive(Default)]
struct Added {
    said: String,
    hook_failed: Option<i32>,
}

fn add(git: &Git, record: &Record, lock: &Held) -> Result<Added, MakeError> {
    if record.branch_created {
        let created =
            branch::create(git, record, lock).map_err(|error| explain(git, record, error))?;
        if created == Created::Present && !branch::is_ours(git, record)? {
            return Err(MakeError::BranchTaken { branch: record.branch.clone() });
        }
    }
    let added = add_again(git, record, lock)?;
    let added = match added {
        Ok(said) => {
            let said = String::from_utf8_lossy(&said.err).trim().to_owned();
            Added { said, hook_failed: None }
        }
        // What git itself fails with is 128; a hook's code becomes git's own.
        Err(GitError::Failed { code: Some(code), said, .. })
            if code != 128 && is_checked_out(record)? =>
        {
            Added { said, hook_failed: Some(code) }
        }
        Err(error) => return Err(explain(git, record, error)),
    };
    finish(record)?;
    Ok(added)
}

/// Adds it; again if another git is in the way, as one that adds a worktree at the same time is.
fn add_again(git: &Git, record: &Record, lock: &Held) -> Result<Result<Said, GitError>, MakeError> {
    let deadline = Instant::now() + git.limits.locks;
    let mut pauses = Pauses::until(deadline);
    loop {
        let add = git.write("worktree").on(&record.repo).hooks(git.hooks).holding(lock.file());
        let add = add.args(["add", "--lock", "--reason", &record.unfinished_mark()]);
        let add = add.arg(&record.path).arg(&record.branch).limit(git.limits.make);
        match add.succeed() {
            Err(error) if error.is_passing() && pauses.again() => {
                // With something of the former try there, git would choose other names.
                clear::clear(record)?;
                clear::finish(record)?;
            }
            other => return Ok(other),
        }
    }
}

/// Git writes the index once all files are there.
fn is_checked_out(record: &Record) -> Result<bool, LookError> {
    let entry = record.entry();
    Ok(Kind::of(&entry.join("index"))? != Kind::None
        && Kind::of(&entry.join("index.lock"))? == Kind::None
        && Kind::of(&record.path.join(".git"))? != Kind::None)
}

/// Unlocks it: from here on it is whole.
fn finish(record: &Record) -> Result<(), MakeError> {
    let path = record.entry().join("locked");
    fs::remove_file(&path).map_err(|source| MakeError::Write { path, source })
}

fn explain(git: &Git, record: &Record, error: GitError) -> MakeError {
    match error {
        GitError::Failed { ref said, .. } if error.is_full_disk() || is_full(git, record) => {
            MakeError::NoRoom { path: record.path.clone(), said: said.clone() }
        }
        error => error.into(),
    }
}

/// Git does not always say why it can't write, and what it wrote it has removed by now.
fn is_full(git: &Git, record: &Record) -> bool {
    let size = size::of_checkout(git, &record.repo, &record.base).unwrap_or_default();
    let is_full = |folder, size| Room::of(folder).is_ok_and(|room| !room.is_enough_for(size));
    is_full(record.path.parent().unwrap_or(&record.path), size) || is_full(&record.repo, 0)
}

fn submodules(git: &Git, record: &Record) -> Result<Vec<String>, GitError> {
    let file = Path::new(".gitmodules");
    if !record.path.join(file).is_file() {
        return Ok(Vec::new());
    }
    let list = git.look("config").args([
        "-z",
        "-f",
        ".gitmodules",
        "--get-regexp",
        r"^submodule\..*\.path$",
    ]);
    let list = list.on(&record.entry()).with_files(&record.path).text_if_any()?.unwrap_or_default();
    // Each is its name, a newline, its value.
    let values = list.split('\0').filter_map(|setting| setting.split_once('\n'));
    Ok(values.map(|(_, value)| value.to_owned()).collect())
}

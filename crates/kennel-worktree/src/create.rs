//! Creates a worktree.
//!
//! The worktree has a lock of git (`git worktree lock`) until it is complete. The lock identifies
//! an incomplete worktree, which is removed and created again, and keeps `git worktree prune` from
//! removing it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Instant;

use crate::branch;
use crate::clear;
use crate::disk_state::{DiskState, ReadPathError, exists};
use crate::folder::FolderError;
use crate::git::{Git, GitError, RetryDelays};
use crate::lock::{self, LockError, MissingLock, WorktreeLock};
use crate::plan::{FreeSpace, checkout_size};
use crate::process::ProcessOutput;
use crate::record::WorktreeRecord;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedWorktree {
    /// Its folder.
    pub path: PathBuf,
    /// The session's working folder: the same subfolder as the user's, if the commit has it.
    pub cwd: PathBuf,
    /// The folders of its submodules. Git leaves them empty: filling them may need the network, and
    /// commits in them would be removed with the worktree. `git submodule update --init` fills
    /// them.
    pub submodules: Vec<String>,
    /// The messages of git and of the user's hooks.
    pub messages: String,
    /// The exit code of a `post-checkout` hook that failed. Git creates the worktree all the same.
    pub hook_failed: Option<i32>,
}

/// A worktree was not created. [`remove`](crate::remove) removes any parts of it.
#[derive(Debug, thiserror::Error)]
pub enum CreateWorktreeError {
    #[error(
        "the branch {branch} was created by another program in the meantime; choose another name"
    )]
    BranchTaken { branch: String },
    #[error("the repository {path} does not exist any more")]
    NoRepository { path: PathBuf },
    /// Another program created a file or folder at its path after the plan.
    #[error("{path} already exists and is not a worktree of git; move it away")]
    Taken { path: PathBuf },
    #[error("can't create the worktree {path} in its state {state:?}")]
    State { path: PathBuf, state: DiskState },
    #[error("the disk of {path} is full: {message}; free some space")]
    DiskFull { path: PathBuf, message: String },
    /// One of Kennel's own files or folders could not be created or removed.
    #[error("can't write {path}")]
    Write { path: PathBuf, source: io::Error },
    /// The files of an earlier attempt could not be removed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Look(#[from] ReadPathError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Creates the worktree of a record. If it is complete already, nothing is changed.
///
/// # Errors
/// See [`CreateWorktreeError`].
pub fn create(git: &Git, record: &WorktreeRecord) -> Result<CreatedWorktree, CreateWorktreeError> {
    if !exists(&record.repo)? {
        return Err(CreateWorktreeError::NoRepository { path: record.repo.clone() });
    }
    let lock = create_lock(git, record)?;
    let (messages, hook_failed) = match DiskState::of(record)? {
        DiskState::Complete => (String::new(), None),
        DiskState::Absent => add(git, record, &lock)?,
        // No session has run in it.
        DiskState::Unfinished | DiskState::BeingRemoved => {
            clear::clear(record)?;
            clear::finish(record)?;
            branch::remove_stale_lock(record).map_err(GitError::Run)?;
            branch::remove_stale_packed_refs_lock(record).map_err(GitError::Run)?;
            add(git, record, &lock)?
        }
        DiskState::Unregistered => {
            return Err(CreateWorktreeError::Taken { path: record.path.clone() });
        }
        state => return Err(CreateWorktreeError::State { path: record.path.clone(), state }),
    };
    let cwd = record.cwd();
    let submodules = submodules(git, record)?;
    Ok(CreatedWorktree { path: record.path.clone(), cwd, submodules, messages, hook_failed })
}

/// Creates and takes the lock, which is the first file of a worktree.
fn create_lock(git: &Git, record: &WorktreeRecord) -> Result<WorktreeLock, CreateWorktreeError> {
    let path = record.lock();
    if let Some(parent) = path.parent() {
        let failed = |source| CreateWorktreeError::Write { path: parent.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
    }
    let held = lock::take(&path, MissingLock::Create, git.limits.locks)?;
    let none = || LockError::Open { path, source: io::ErrorKind::NotFound.into() };
    Ok(held.ok_or_else(none)?)
}

/// Returns the messages of git, and the exit code of a hook that failed.
fn add(
    git: &Git,
    record: &WorktreeRecord,
    lock: &WorktreeLock,
) -> Result<(String, Option<i32>), CreateWorktreeError> {
    if record.branch_created {
        let created =
            branch::create(git, record, lock).map_err(|error| explain(git, record, error))?;
        if !created && !branch::is_ours(git, record)? {
            return Err(CreateWorktreeError::BranchTaken { branch: record.branch.clone() });
        }
    }
    let added = match add_with_retries(git, record, lock)? {
        Ok(output) => (String::from_utf8_lossy(&output.stderr).trim().to_owned(), None),
        // Git's own errors exit with 128; git also exits with the code of a failed hook.
        Err(GitError::Failed { code: Some(code), message, .. })
            if code != 128 && is_checked_out(record)? =>
        {
            (message, Some(code))
        }
        Err(error) => return Err(explain(git, record, error)),
    };
    finish(record)?;
    Ok(added)
}

/// Calls `git worktree add`, and retries while a concurrent git makes it fail.
fn add_with_retries(
    git: &Git,
    record: &WorktreeRecord,
    lock: &WorktreeLock,
) -> Result<Result<ProcessOutput, GitError>, CreateWorktreeError> {
    let mut delays = RetryDelays::until(Instant::now() + git.limits.locks);
    loop {
        let add = git.write("worktree").on(&record.repo).hooks(git.hooks).holding(lock.file());
        let add = add.args(["add", "--lock", "--reason", &record.unfinished_reason()]);
        let add = add.arg(&record.path).arg(&record.branch).limit(git.limits.create);
        match add.succeed() {
            Err(error) if error.is_transient() && delays.wait() => {}
            // A concurrent `git worktree prune` has removed the entry.
            Ok(_) if !exists(&record.entry().join("locked"))? && delays.wait() => {}
            other => return Ok(other),
        }
        // With files of the failed attempt, git would choose another name for its entry.
        clear::clear(record)?;
        clear::finish(record)?;
    }
}

/// Returns whether the checkout is complete: git writes the index after all files.
fn is_checked_out(record: &WorktreeRecord) -> Result<bool, ReadPathError> {
    let entry = record.entry();
    Ok(exists(&entry.join("index"))?
        && !exists(&entry.join("index.lock"))?
        && exists(&record.path.join(".git"))?)
}

/// Removes git's lock, which marks the worktree as complete.
fn finish(record: &WorktreeRecord) -> Result<(), CreateWorktreeError> {
    let path = record.entry().join("locked");
    fs::remove_file(&path).map_err(|source| CreateWorktreeError::Write { path, source })
}

fn explain(git: &Git, record: &WorktreeRecord, error: GitError) -> CreateWorktreeError {
    match error {
        GitError::Failed { ref message, .. } if error.is_full_disk() || is_full(git, record) => {
            CreateWorktreeError::DiskFull { path: record.path.clone(), message: message.clone() }
        }
        error => error.into(),
    }
}

/// Returns whether the disk is too full. Git doesn't always report it, and has removed its files
/// already.
fn is_full(git: &Git, record: &WorktreeRecord) -> bool {
    let size = checkout_size(git, &record.repo, &record.base).unwrap_or_default();
    let is_full = |folder, size| FreeSpace::of(folder).is_ok_and(|free| !free.is_enough_for(size));
    is_full(record.path.parent().unwrap_or(&record.path), size) || is_full(&record.repo, 0)
}

fn submodules(git: &Git, record: &WorktreeRecord) -> Result<Vec<String>, GitError> {
    if !record.path.join(".gitmodules").is_file() {
        return Ok(Vec::new());
    }
    let pattern = r"^submodule\..*\.path$";
    let list = git.read("config").args(["-z", "-f", ".gitmodules", "--get-regexp", pattern]);
    let list = list.on(&record.entry()).with_work_tree(&record.path).text_if_found()?;
    let list = list.unwrap_or_default();
    // Each setting is its name, a newline, its value.
    let values = list.split('\0').filter_map(|setting| setting.split_once('\n'));
    Ok(values.map(|(_, value)| value.to_owned()).collect())
}

//! Creates and deletes the branch of a worktree, without losing a commit to a race.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::disk_state::if_exists;
use crate::git::{Git, GitCall, GitError, RetryDelays};
use crate::lock::{self, WorktreeLock};
use crate::record::WorktreeRecord;

/// What happened to the branch when its worktree was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum BranchOutcome {
    /// It existed before the session, and stays.
    NotOurs,
    /// It doesn't exist any more.
    Absent,
    Deleted {
        /// Its last commit.
        tip: String,
    },
    /// It stays, because it has commits that no other branch has.
    HasCommits,
    /// It stays, because it is checked out here.
    InUse(PathBuf),
}

/// Returns the branch's last commit.
pub(crate) fn tip(git: &Git, record: &WorktreeRecord) -> Result<Option<String>, GitError> {
    let parse = git.read("rev-parse").args(["--quiet", "--verify"]).on(&record.repo);
    parse.arg(format!("{}^{{commit}}", record.refname())).text_if_found()
}

/// Returns whether the existing branch was created for this session. A default name proves it. For
/// a name that the user chose, the reflog does: another program may have created the branch after
/// the plan.
pub(crate) fn is_ours(git: &Git, record: &WorktreeRecord) -> Result<bool, GitError> {
    if !record.branch_created || record.branch == WorktreeRecord::branch_of(&record.session) {
        return Ok(record.branch_created);
    }
    let log = git.read("log").args(["-g", "-z", "--format=%gs"]).on(&record.repo);
    let log = log.args([&record.refname(), "--"]).max_output(16 * 1024 * 1024).bytes()?;
    let first = log.split(|byte| *byte == 0).rfind(|line| !line.is_empty());
    Ok(first == Some(record.branch_reflog_message().as_bytes()))
}

/// Creates the branch. Returns false if it exists.
pub(crate) fn create(
    git: &Git,
    record: &WorktreeRecord,
    lock: &WorktreeLock,
) -> Result<bool, GitError> {
    remove_stale_lock(record).map_err(GitError::Run)?;
    retry(Instant::now() + git.limits.locks, || create_once(git, record, lock))
}

fn create_once(git: &Git, record: &WorktreeRecord, lock: &WorktreeLock) -> Result<bool, GitError> {
    let update = git.write("update-ref").on(&record.repo).hooks(git.hooks).holding(lock.file());
    let update = update.args(["--create-reflog", "-m", &record.branch_reflog_message()]);
    // With an empty old value, git creates the branch only if it doesn't exist.
    match update.args([&record.refname(), &record.base, ""]).succeed() {
        Ok(_) => Ok(true),
        Err(error) if error.is_lock() && tip(git, record)?.is_some() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Which commits may be lost with the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchDeletion {
    /// Only those that another branch, tag or remote has, or that existed before the session.
    IfUnused,
    /// All: the user has seen them, and confirmed.
    Force,
}

/// Deletes the branch, if it was created for this session and no commit would be lost.
pub(crate) fn delete(
    git: &Git,
    record: &WorktreeRecord,
    deletion: BranchDeletion,
) -> Result<BranchOutcome, GitError> {
    if !record.branch_created {
        return Ok(BranchOutcome::NotOurs);
    }
    let deadline = Instant::now() + git.limits.locks;
    let outcome = retry(deadline, || delete_once(git, record, deletion))?;
    if matches!(outcome, BranchOutcome::Deleted { .. } | BranchOutcome::Absent) {
        retry(deadline, || remove_settings(git, record))?;
    }
    Ok(outcome)
}

fn delete_once(
    git: &Git,
    record: &WorktreeRecord,
    deletion: BranchDeletion,
) -> Result<BranchOutcome, GitError> {
    let Some(tip) = tip(git, record)? else {
        return Ok(BranchOutcome::Absent);
    };
    if !is_ours(git, record)? {
        return Ok(BranchOutcome::NotOurs);
    }
    let list = git.read("for-each-ref").arg("--format=%(worktreepath)").on(&record.repo);
    let at = list.arg(record.refname()).path()?;
    if !at.as_os_str().is_empty() {
        return Ok(BranchOutcome::InUse(at));
    }
    // If the branches of two sessions with the same commits are deleted at the same time, one of
    // them stays: the second call checks after the first has finished. (Git could verify the other
    // branch in the same transaction, but it locks what it verifies, so a git that is killed then
    // would leave the user's own branch locked.)
    let lock = lock::take_folder(&record.repo, git.limits.locks).map_err(GitError::Run)?;
    if deletion == BranchDeletion::IfUnused && !is_reachable_elsewhere(git, record, &tip)? {
        return Ok(BranchOutcome::HasCommits);
    }
    let update = git.write("update-ref").on(&record.repo).holding(&lock);
    update.args(["-d", &record.refname(), &tip]).succeed()?;
    Ok(BranchOutcome::Deleted { tip })
}

/// Returns whether a commit survives the session's branch: another branch, tag or remote has it, or
/// the session made no commit and another worktree is on its base.
fn is_reachable_elsewhere(git: &Git, record: &WorktreeRecord, tip: &str) -> Result<bool, GitError> {
    let list = git.read("for-each-ref").args(["--count=2", "--format=%(refname)"]);
    let list = list.args(["--contains", tip, "refs/heads", "refs/tags", "refs/remotes"]);
    let list = list.on(&record.repo).text()?;
    if list.lines().any(|name| name != record.refname()) {
        return Ok(true);
    }
    Ok(tip == record.base && crate::inspect::base_is_checked_out(git, record)?)
}

/// Removes the settings of the branch, such as its upstream.
fn remove_settings(git: &Git, record: &WorktreeRecord) -> Result<(), GitError> {
    let list = git.read("config").args(["--local", "--list", "-z", "--name-only"]);
    let list = list.on(&record.repo).bytes()?;
    let section = format!("branch.{}", record.branch);
    let of_section = |name: &[u8]| {
        name.strip_prefix(section.as_bytes()).is_some_and(|rest| rest.starts_with(b"."))
    };
    // Writing the settings locks them, so do it only if needed.
    if !list.split(|byte| *byte == 0).any(of_section) {
        return Ok(());
    }
    let remove = git.write("config").args(["--local", "--remove-section", &section]);
    remove.on(&record.repo).succeed().map(drop)
}

/// Removes the lock of the branch that a killed git left: one of ours, or the session's own during
/// a commit. The caller holds the worktree's lock, and no session runs, so no program should write
/// the branch. If one does, this waits for it.
pub(crate) fn remove_stale_lock(record: &WorktreeRecord) -> io::Result<()> {
    const STALE: Duration = Duration::from_secs(5);
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    let path = record.repo.join(format!("{}.lock", record.refname()));
    let deadline = Instant::now() + STALE;
    loop {
        let Some(written) = modified(&path)? else { return Ok(()) };
        // If the clock was set back, the age is unknown, but this loop has waited as long.
        let is_stale =
            written.elapsed().is_ok_and(|age| age >= STALE) || Instant::now() >= deadline;
        if !is_stale {
            thread::sleep(POLL_INTERVAL);
            continue;
        }
        return if_exists(fs::remove_file(&path)).map(drop);
    }
}

/// Removes an old lock of the packed references. The caller knows that a creation or removal of the
/// worktree was interrupted: git takes this lock for both, and while a killed git's lock exists, no
/// branch can be deleted.
pub(crate) fn remove_stale_packed_refs_lock(record: &WorktreeRecord) -> io::Result<()> {
    const STALE: Duration = Duration::from_secs(60);
    let path = record.repo.join("packed-refs.lock");
    match modified(&path)?.map(|written| written.elapsed()) {
        Some(Ok(age)) if age >= STALE => fs::remove_file(&path),
        _ => Ok(()),
    }
}

/// Returns when a file was written, if it exists.
fn modified(path: &Path) -> io::Result<Option<SystemTime>> {
    if_exists(fs::symlink_metadata(path).and_then(|meta| meta.modified()))
}

/// Retries with growing delays, as long as a concurrent git causes the error.
fn retry<T>(
    deadline: Instant,
    mut call: impl FnMut() -> Result<T, GitError>,
) -> Result<T, GitError> {
    let mut delays = RetryDelays::until(deadline);
    loop {
        match call() {
            Err(error) if error.is_transient() && delays.wait() => {}
            other => return other,
        }
    }
}

/// Limits a call to commits that no branch, tag or remote has, except for the session's own branch.
pub(crate) fn exclude_other_refs<'a>(
    call: GitCall<'a>,
    record: &WorktreeRecord,
    is_ours: bool,
) -> GitCall<'a> {
    let call = call.arg("--not");
    let call = if is_ours { call.arg(format!("--exclude={}", record.branch)) } else { call };
    call.args(["--branches", "--tags", "--remotes", "--"])
}

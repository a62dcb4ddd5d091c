//! The branch of a worktree: made, and deleted, so that no commit is lost to a race.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::git::{Call, Git, GitError, Pauses};
use crate::lock::{self, Held};
use crate::record::Record;

/// What became of the branch when its worktree was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum BranchFate {
    /// It was there before the session, and stays.
    NotOurs,
    /// There is none by now.
    Absent,
    /// It was deleted; it was at this commit.
    Deleted {
        /// The commit.
        tip: String,
    },
    /// It stays, since it has commits that are on no other branch.
    HasCommits,
    /// It stays, since it is checked out here.
    InUse(PathBuf),
}

/// The branch's commit.
pub(crate) fn tip(git: &Git, record: &Record) -> Result<Option<String>, GitError> {
    let parse = git.look("rev-parse").args(["--quiet", "--verify"]).on(&record.repo);
    parse.arg(format!("{}^{{commit}}", record.refname())).text_if_any()
}

/// Whether the branch, which is there, was made for this session. A name of our own making says so; for a name of the
/// user's the reflog does: somebody else may have made the branch between plan and deed.
pub(crate) fn is_ours(git: &Git, record: &Record) -> Result<bool, GitError> {
    if !record.branch_created || record.branch == Record::branch_of(&record.session) {
        return Ok(record.branch_created);
    }
    let log = git.look("log").args(["-g", "-z", "--format=%gs"]).on(&record.repo);
    let log = log.args([&record.refname(), "--"]).most_output(16 * 1024 * 1024).bytes()?;
    let first = log.split(|byte| *byte == 0).rfind(|line| !line.is_empty());
    Ok(first == Some(record.branch_mark().as_bytes()))
}

/// Makes the branch, if it is not there yet.
pub(crate) fn create(git: &Git, record: &Record, lock: &Held) -> Result<Created, GitError> {
    match retry(Instant::now() + git.limits.locks, || create_once(git, record, lock)) {
        Err(error) if error.is_lock() && remove_stale_lock(git, record) => {
            create_once(git, record, lock)
        }
        other => other,
    }
}

fn create_once(git: &Git, record: &Record, lock: &Held) -> Result<Created, GitError> {
    let update = git.write("update-ref").on(&record.repo).hooks(git.hooks).holding(lock.file());
    let update = update.args(["--create-reflog", "-m", &record.branch_mark()]);
    // With nothing for its old value, git makes it only if it is not there.
    match update.args([&record.refname(), &record.base, ""]).succeed() {
        Ok(_) => Ok(Created::Made),
        Err(error) if error.is_lock() && tip(git, record)?.is_some() => Ok(Created::Present),
        Err(error) => Err(error),
    }
}

/// What came of making a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Created {
    Made,
    Present,
}

/// Whose commits may go with the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// Only those that another branch, tag or remote has as well, or that were there before the session.
    IfEmpty,
    /// All: somebody was told, and wants it so.
    Anyway,
}

/// Deletes the branch, if it was made for this session and may go.
pub(crate) fn delete(
    git: &Git,
    record: &Record,
    deletion: Deletion,
) -> Result<BranchFate, GitError> {
    if !record.branch_created {
        return Ok(BranchFate::NotOurs);
    }
    let deadline = Instant::now() + git.limits.locks;
    let fate = match retry(deadline, || delete_once(git, record, deletion)) {
        Err(error) if error.is_lock() && remove_stale_lock(git, record) => {
            delete_once(git, record, deletion)?
        }
        other => other?,
    };
    if matches!(fate, BranchFate::Deleted { .. } | BranchFate::Absent) {
        retry(deadline, || remove_settings(git, record))?;
    }
    Ok(fate)
}

fn delete_once(git: &Git, record: &Record, deletion: Deletion) -> Result<BranchFate, GitError> {
    let Some(tip) = tip(git, record)? else {
        return Ok(BranchFate::Absent);
    };
    if !is_ours(git, record)? {
        return Ok(BranchFate::NotOurs);
    }
    let list = git.look("for-each-ref").arg("--format=%(worktreepath)").on(&record.repo);
    let at = list.arg(record.refname()).path()?;
    if !at.as_os_str().is_empty() {
        return Ok(BranchFate::InUse(at));
    }
    // Of two sessions with the same commits, whose branches are to go at the same time, one keeps its own: the second
    // looks when the first has gone. (Git could verify the other branch in the same transaction. But it locks what it
    // verifies, and a git that is killed just then would leave the user's own branch locked.)
    let alone = lock::take_folder(&record.repo, git.limits.locks).map_err(GitError::Run)?;
    if deletion == Deletion::IfEmpty && !is_held(git, record, &tip)? {
        return Ok(BranchFate::HasCommits);
    }
    let update = git.write("update-ref").on(&record.repo).holding(&alone);
    update.args(["-d", &record.refname(), &tip]).succeed()?;
    Ok(BranchFate::Deleted { tip })
}

/// Whether a commit stays when the session's branch goes: another branch, tag or remote has it; or the session made
/// none, and another worktree stands on its base.
fn is_held(git: &Git, record: &Record, tip: &str) -> Result<bool, GitError> {
    let list = git.look("for-each-ref").args(["--count=2", "--format=%(refname)"]);
    let list = list.args(["--contains", tip, "refs/heads", "refs/tags", "refs/remotes"]);
    let list = list.on(&record.repo).text()?;
    if list.lines().any(|name| name != record.refname()) {
        return Ok(true);
    }
    Ok(tip == record.base && crate::judge::base_is_checked_out(git, record)?)
}

/// What git knows of the branch besides its commits: its upstream, if it was pushed.
fn remove_settings(git: &Git, record: &Record) -> Result<(), GitError> {
    let list = git.look("config").args(["--local", "--list", "-z", "--name-only"]);
    let list = list.on(&record.repo).bytes()?;
    let section = format!("branch.{}", record.branch);
    let of_section = |name: &[u8]| {
        name.strip_prefix(section.as_bytes()).is_some_and(|rest| rest.starts_with(b"."))
    };
    // To write the settings means to lock them: not without need.
    if !list.split(|byte| *byte == 0).any(of_section) {
        return Ok(());
    }
    let remove = git.write("config").args(["--local", "--remove-section", &section]);
    remove.on(&record.repo).succeed().map(drop)
}

/// Removes the lock of the branch that a git left which was killed. We hold the worktree's lock, so no git of ours is
/// at work; and nobody else's was for as long as we tried.
fn remove_stale_lock(git: &Git, record: &Record) -> bool {
    let path = record.repo.join(format!("{}.lock", record.refname()));
    let age = fs::symlink_metadata(&path).map(|meta| meta.mtime()).and_then(|written| {
        let since = Duration::from_secs(written.unsigned_abs());
        (std::time::UNIX_EPOCH + since).elapsed().map_err(io::Error::other)
    });
    record.branch_created
        && age.is_ok_and(|age| age + Duration::from_secs(1) >= git.limits.locks)
        && fs::remove_file(&path).is_ok()
}

/// Again, with longer and longer pauses, as long as another git is in the way.
fn retry<T>(
    deadline: Instant,
    mut call: impl FnMut() -> Result<T, GitError>,
) -> Result<T, GitError> {
    let mut pauses = Pauses::until(deadline);
    loop {
        match call() {
            Err(error) if error.is_passing() && pauses.again() => {}
            other => return other,
        }
    }
}

/// The call that lists what is on no other branch, tag or remote than the session's own.
pub(crate) fn not_elsewhere<'a>(call: Call<'a>, record: &Record, is_ours: bool) -> Call<'a> {
    let call = call.arg("--not");
    let call = if is_ours { call.arg(format!("--exclude={}", record.branch)) } else { call };
    call.args(["--branches", "--tags", "--remotes", "--"])
}

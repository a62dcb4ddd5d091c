//! The branch of a worktree: made, and deleted, so that no commit is lost to a race.

use std::fs;
use std::io::{self, ErrorKind::NotADirectory, ErrorKind::NotFound};
use std::path::PathBuf;
use std::thread;
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
    settle_lock(record).map_err(GitError::Run)?;
    retry(Instant::now() + git.limits.locks, || create_once(git, record, lock))
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
    let fate = retry(deadline, || delete_once(git, record, deletion))?;
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

/// Removes the lock of the branch that a git left which was killed: ours, or the session's own in the middle of a
/// commit. To be called under the worktree's lock, when no session is at work: then nobody has a reason to write the
/// branch, and whoever does so all the same is waited for.
pub(crate) fn settle_lock(record: &Record) -> io::Result<()> {
    const STALE: Duration = Duration::from_secs(5);
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    let path = record.repo.join(format!("{}.lock", record.refname()));
    let deadline = Instant::now() + STALE;
    loop {
        let written = match fs::symlink_metadata(&path).and_then(|meta| meta.modified()) {
            Ok(written) => written,
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(()),
            Err(error) => return Err(error),
        };
        // A clock that was set back says nothing; then we have waited as long.
        let is_stale =
            written.elapsed().is_ok_and(|age| age >= STALE) || Instant::now() >= deadline;
        if !is_stale {
            thread::sleep(POLL_INTERVAL);
            continue;
        }
        return match fs::remove_file(&path) {
            Err(error) if error.kind() == NotFound => Ok(()),
            other => other,
        };
    }
}

/// Removes an old lock of all packed references. To be called only if somebody was interrupted who made or removed the
/// worktree: git takes this lock for both, and if it was killed then, nobody could delete any branch any more.
pub(crate) fn settle_packed_lock(record: &Record) -> io::Result<()> {
    const STALE: Duration = Duration::from_secs(60);
    let path = record.repo.join("packed-refs.lock");
    let written = match fs::symlink_metadata(&path).and_then(|meta| meta.modified()) {
        Ok(written) => written,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(()),
        Err(error) => return Err(error),
    };
    match written.elapsed() {
        Ok(age) if age >= STALE => fs::remove_file(&path),
        _ => Ok(()),
    }
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

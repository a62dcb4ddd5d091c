//! Finds the commits that would be lost.

use crate::branch::exclude_other_refs;
use crate::findings::{Commit, LostCommits};
use crate::git::{Git, GitCall, GitError};
use crate::record::WorktreeRecord;

/// The limit of commits that are listed with their subjects.
const MAX_COMMITS: &str = "--max-count=100";

/// Finds the commits of the session's own branch and of a detached `HEAD` that no other branch, tag
/// or remote has.
///
/// If another branch is checked out in the worktree, it stays with its commits. Commits that the
/// session itself amended or reset don't count.
pub(super) fn find(
    git: &Git,
    record: &WorktreeRecord,
    detached: Option<&str>,
) -> Result<LostCommits, GitError> {
    let own = super::branch_to_delete(git, record)?;
    let tips: Vec<&str> = own.as_deref().into_iter().chain(detached).collect();
    if tips.is_empty() {
        return Ok(LostCommits::default());
    }
    let lost = |call: GitCall<'_>, tips: &[&str], besides: &[String]| {
        let call = call.args(tips).args(besides).on(&record.repo);
        exclude_other_refs(call, record, own.is_some()).text()
    };
    let count = |tips: &[&str], besides: &[String]| {
        let answer = lost(git.read("rev-list").arg("--count"), tips, besides)?;
        let invalid =
            || GitError::InvalidOutput { what: "rev-list".to_owned(), answer: answer.clone() };
        answer.parse::<u64>().map_err(|_text| invalid())
    };
    let mut besides = Vec::new();
    let mut found = count(&tips, &besides)?;
    // The base is not the session's own commit. It may be on no branch, if the user's `HEAD` was
    // detached; then it is safe while another worktree is on it.
    if found > 0 && count(&[&record.base], &[])? > 0 && base_is_checked_out(git, record)? {
        besides.push(format!("^{}", record.base));
        found = count(&tips, &besides)?;
    }
    if found == 0 {
        return Ok(LostCommits::default());
    }
    let log = git.read("log").args([
        "-z",
        "--format=%H %s",
        "--encoding=UTF-8",
        "--no-color",
        MAX_COMMITS,
    ]);
    let newest = lost(log, &tips, &besides)?;
    let newest = newest.split('\0').filter_map(|line| line.split_once(' '));
    let newest =
        newest.map(|(id, subject)| Commit { id: id.to_owned(), subject: subject.to_owned() });
    Ok(LostCommits { count: found, newest: newest.collect() })
}

/// Returns whether another worktree, or the main checkout, has the session's base in its history.
pub(crate) fn base_is_checked_out(git: &Git, record: &WorktreeRecord) -> Result<bool, GitError> {
    let list = git.read("worktree").args(["list", "--porcelain"]).on(&record.repo).bytes()?;
    let list = String::from_utf8_lossy(&list).into_owned();
    let own = format!("worktree {}", record.path.display());
    let others = list.split("\n\n").filter(|worktree| !worktree.starts_with(&own));
    let heads: Vec<&str> = others
        .flat_map(|other| other.lines().find_map(|line| line.strip_prefix("HEAD ")))
        .collect();
    for head in heads.into_iter().filter(|head| head.bytes().any(|digit| digit != b'0')) {
        let ask = git.read("merge-base").args(["--is-ancestor", &record.base, head]);
        if ask.on(&record.repo).text_if_found()?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

//! Which commits would be lost.

use crate::branch::not_elsewhere;
use crate::findings::{Commit, Commits};
use crate::git::{Call, Git, GitError};
use crate::record::Record;

/// So many are told with their subjects.
const TOLD: &str = "--max-count=100";

/// The commits of the session's own branch and of a detached `HEAD` that are on no other branch, tag or remote.
///
/// Another branch that is checked out in the worktree stays when the worktree goes, and so do its commits. What was
/// amended or reset away is in no branch by the session's own wish, and is not looked for.
pub(super) fn find(
    git: &Git,
    record: &Record,
    detached: Option<&str>,
) -> Result<Commits, GitError> {
    let own = super::branch_goes(git, record)?;
    let tips: Vec<&str> = own.as_deref().into_iter().chain(detached).collect();
    if tips.is_empty() {
        return Ok(Commits::default());
    }
    let lost = |call: Call<'_>, tips: &[&str], besides: &[String]| {
        let call = call.args(tips).args(besides).on(&record.repo);
        not_elsewhere(call, record, own.is_some()).text()
    };
    let count = |tips: &[&str], besides: &[String]| {
        let answer = lost(git.look("rev-list").arg("--count"), tips, besides)?;
        let garbled = || GitError::Garbled { what: "rev-list".to_owned(), answer: answer.clone() };
        answer.parse::<u64>().map_err(|_text| garbled())
    };
    let mut besides = Vec::new();
    let mut found = count(&tips, &besides)?;
    // What the session started from is not its own. It may be on no branch, if the user stood on none; then it is
    // safe as long as somebody still stands on it.
    if found > 0 && count(&[&record.base], &[])? > 0 && base_is_checked_out(git, record)? {
        besides.push(format!("^{}", record.base));
        found = count(&tips, &besides)?;
    }
    if found == 0 {
        return Ok(Commits::default());
    }
    let log =
        git.look("log").args(["-z", "--format=%H %s", "--encoding=UTF-8", "--no-color", TOLD]);
    let newest = lost(log, &tips, &besides)?;
    let newest = newest.split('\0').filter_map(|line| line.split_once(' '));
    let newest =
        newest.map(|(id, subject)| Commit { id: id.to_owned(), subject: subject.to_owned() });
    Ok(Commits { count: found, newest: newest.collect() })
}

/// Whether another worktree, or the main checkout, stands on what the session started from.
pub(crate) fn base_is_checked_out(git: &Git, record: &Record) -> Result<bool, GitError> {
    let list = git.look("worktree").args(["list", "--porcelain"]).on(&record.repo).bytes()?;
    let list = String::from_utf8_lossy(&list).into_owned();
    let own = format!("worktree {}", record.path.display());
    let others = list.split("\n\n").filter(|worktree| !worktree.starts_with(&own));
    let heads: Vec<&str> = others
        .flat_map(|other| other.lines().find_map(|line| line.strip_prefix("HEAD ")))
        .collect();
    for head in heads.into_iter().filter(|head| head.bytes().any(|digit| digit != b'0')) {
        let ask = git.look("merge-base").args(["--is-ancestor", &record.base, head]);
        if ask.on(&record.repo).text_if_any()?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

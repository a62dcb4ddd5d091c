//! Chooses the branch and its first commit.

use std::path::PathBuf;

use super::repository::Repository;
use super::{PlanWorktreeError, WorktreeRequest};
use crate::git::{Git, GitError};
use crate::record::WorktreeRecord;

pub(super) struct ChosenBranch {
    pub(super) branch: String,
    pub(super) is_new: bool,
    pub(super) base: String,
}

pub(super) fn choose(
    git: &Git,
    repository: &Repository,
    request: &WorktreeRequest<'_>,
) -> Result<ChosenBranch, PlanWorktreeError> {
    let Some(branch) = request.branch else {
        return new(git, repository, WorktreeRecord::branch_of(request.session), request.base);
    };
    check_branch_name(git, branch)?;
    let branch = branch.to_owned();
    let Some(base) = commit(git, repository, &format!("refs/heads/{branch}"))? else {
        return new(git, repository, branch, request.base);
    };
    if let Some(given) = request.base {
        return Err(PlanWorktreeError::BranchExists { branch, base: given.to_owned() });
    }
    if let Some(at) = checked_out_at(git, repository, &branch)? {
        return Err(PlanWorktreeError::BranchInUse { branch, at });
    }
    Ok(ChosenBranch { branch, is_new: false, base })
}

fn new(
    git: &Git,
    repository: &Repository,
    branch: String,
    base: Option<&str>,
) -> Result<ChosenBranch, PlanWorktreeError> {
    if let Some(other) = conflicting_branch(git, repository, &branch)? {
        return Err(PlanWorktreeError::BranchConflict { branch, other });
    }
    let base = if let Some(given) = base {
        let found = if given.starts_with('-') { None } else { commit(git, repository, given)? };
        found.ok_or_else(|| PlanWorktreeError::NoSuchBase {
            base: given.to_owned(),
            repo: repository.common.clone(),
        })?
    } else if let Some(base) = on_a_remote(git, repository, &branch)? {
        base
    } else {
        let repo = repository.common.clone();
        commit(git, repository, "HEAD")?.ok_or(PlanWorktreeError::NoCommit { repo })?
    };
    Ok(ChosenBranch { branch, is_new: true, base })
}

/// Checks git's own rules, and refuses names that git's commands would parse as an option or as
/// another reference.
fn check_branch_name(git: &Git, branch: &str) -> Result<(), PlanWorktreeError> {
    let refused = || PlanWorktreeError::BranchName { branch: branch.to_owned() };
    if branch.starts_with('-') || branch == "HEAD" || branch.contains('\0') {
        return Err(refused());
    }
    let checked =
        git.read("check-ref-format").arg(format!("refs/heads/{branch}")).text_if_found()?;
    checked.map(drop).ok_or_else(refused)
}

/// Resolves a name to a commit.
fn commit(git: &Git, repository: &Repository, name: &str) -> Result<Option<String>, GitError> {
    let parse = repository.read(git, "rev-parse").args(["--quiet", "--verify", "--end-of-options"]);
    match parse.arg(format!("{name}^{{commit}}")).text_if_found() {
        // An invalid name (`a..b`) is not a commit either.
        Err(GitError::Failed { code: Some(128), message, .. })
            if message.contains("Needed a single") =>
        {
            Ok(None)
        }
        other => other,
    }
}

fn checked_out_at(
    git: &Git,
    repository: &Repository,
    branch: &str,
) -> Result<Option<PathBuf>, GitError> {
    let list = repository.read(git, "for-each-ref").arg("--format=%(worktreepath)");
    let at = list.arg(format!("refs/heads/{branch}")).path()?;
    // The `HEAD` of a bare repository is not a checkout, but hides a worktree on the same branch.
    if at == repository.common {
        return checked_out_in_list(git, repository, branch);
    }
    Ok(Some(at).filter(|at| !at.as_os_str().is_empty()))
}

fn checked_out_in_list(
    git: &Git,
    repository: &Repository,
    branch: &str,
) -> Result<Option<PathBuf>, GitError> {
    let list = repository.read(git, "worktree").args(["list", "--porcelain"]).bytes()?;
    let sign = format!("\nbranch refs/heads/{branch}\n");
    let list = String::from_utf8_lossy(&list) + "\n\n";
    let mut worktrees = list.split_inclusive("\n\n");
    let found = worktrees.find(|worktree| worktree.contains(&sign));
    let path = found.and_then(|found| found.strip_prefix("worktree ")?.lines().next());
    Ok(path.map(PathBuf::from))
}

/// Finds an existing branch that conflicts with the name: `a` conflicts with `a/b`.
fn conflicting_branch(
    git: &Git,
    repository: &Repository,
    branch: &str,
) -> Result<Option<String>, GitError> {
    let list = |name: &str| {
        let list = repository
            .read(git, "for-each-ref")
            .args(["--count=1", "--format=%(refname:lstrip=2)"]);
        list.arg(format!("refs/heads/{name}")).text()
    };
    let below = list(&format!("{branch}/"))?;
    if !below.is_empty() {
        return Ok(Some(below));
    }
    for (end, _) in branch.match_indices('/') {
        // For `a`, git also lists the branches below `a/`.
        if list(&branch[..end])? == branch[..end] {
            return Ok(Some(branch[..end].to_owned()));
        }
    }
    Ok(None)
}

/// Returns the commit of the branch on the only remote that has it.
fn on_a_remote(
    git: &Git,
    repository: &Repository,
    branch: &str,
) -> Result<Option<String>, PlanWorktreeError> {
    let list =
        repository.read(git, "for-each-ref").arg("--format=%(objectname) %(refname:lstrip=2)");
    let list = list.arg(format!("refs/remotes/*/{branch}")).text()?;
    let found: Vec<(&str, &str)> = list
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(commit, name)| Some((name.strip_suffix(branch)?.strip_suffix('/')?, commit)))
        .collect();
    match found.as_slice() {
        [] => Ok(None),
        [(_, commit)] => Ok(Some((*commit).to_owned())),
        several => {
            let remotes = several.iter().map(|(remote, _)| *remote).collect::<Vec<_>>().join(", ");
            Err(PlanWorktreeError::SeveralRemotes { branch: branch.to_owned(), remotes })
        }
    }
}

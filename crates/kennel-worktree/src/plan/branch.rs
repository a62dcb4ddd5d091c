//! Which branch, and from which commit.

use std::path::PathBuf;

use super::repository::Repository;
use super::{Refusal, Request, StartsFrom};
use crate::git::{Git, GitError};
use crate::record::Record;

/// The branch of a worktree to be made.
pub(super) struct Chosen {
    pub(super) branch: String,
    pub(super) is_new: bool,
    pub(super) base: String,
    pub(super) starts_from: StartsFrom,
}

/// Chooses the branch.
pub(super) fn choose(
    git: &Git,
    repository: &Repository,
    request: &Request<'_>,
) -> Result<Chosen, Refusal> {
    let Some(branch) = request.branch else {
        return new(git, repository, Record::branch_of(request.session), request.base);
    };
    must_be_a_name(git, branch)?;
    let branch = branch.to_owned();
    let Some(base) = commit(git, repository, &format!("refs/heads/{branch}"))? else {
        return new(git, repository, branch, request.base);
    };
    if let Some(given) = request.base {
        return Err(Refusal::BranchHasItsBase { branch, base: given.to_owned() });
    }
    if let Some(at) = checked_out_at(git, repository, &branch)? {
        return Err(Refusal::BranchInUse { branch, at });
    }
    Ok(Chosen { branch, is_new: false, base, starts_from: StartsFrom::Branch })
}

fn new(
    git: &Git,
    repository: &Repository,
    branch: String,
    base: Option<&str>,
) -> Result<Chosen, Refusal> {
    let chosen = |branch, base, starts_from| Chosen { branch, is_new: true, base, starts_from };
    if let Some(other) = in_the_way(git, repository, &branch)? {
        return Err(Refusal::BranchInTheWay { branch, other });
    }
    if let Some(given) = base {
        let found = if given.starts_with('-') { None } else { commit(git, repository, given)? };
        let no_such =
            || Refusal::NoSuchBase { base: given.to_owned(), repo: repository.common.clone() };
        return Ok(chosen(branch, found.ok_or_else(no_such)?, StartsFrom::Given));
    }
    if let Some((remote, base)) = of_a_remote(git, repository, &branch)? {
        return Ok(chosen(branch, base, StartsFrom::Remote(remote)));
    }
    match commit(git, repository, "HEAD")? {
        Some(base) => Ok(chosen(branch, base, StartsFrom::Head)),
        None => Err(Refusal::NoCommit { repo: repository.common.clone() }),
    }
}

/// Git's own rules; and what its commands would take for an option, or for something other than a branch.
fn must_be_a_name(git: &Git, branch: &str) -> Result<(), Refusal> {
    let refused = || Refusal::BranchName { branch: branch.to_owned() };
    if branch.starts_with('-') || branch == "HEAD" || branch.contains('\0') {
        return Err(refused());
    }
    let checked = git.look("check-ref-format").arg(format!("refs/heads/{branch}")).text_if_any()?;
    checked.map(drop).ok_or_else(refused)
}

/// The commit behind a name.
fn commit(git: &Git, repository: &Repository, name: &str) -> Result<Option<String>, GitError> {
    let parse = repository.look(git, "rev-parse").args(["--quiet", "--verify", "--end-of-options"]);
    match parse.arg(format!("{name}^{{commit}}")).text_if_any() {
        // A name that can't even be read (`a..b`) is none, too.
        Err(GitError::Failed { code: Some(128), said, .. }) if said.contains("Needed a single") => {
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
    let list = repository.look(git, "for-each-ref").arg("--format=%(worktreepath)");
    let at = list.arg(format!("refs/heads/{branch}")).path()?;
    // A bare repository's `HEAD` is no checkout, but hides a worktree that is one.
    if at == repository.common {
        return checked_out_besides(git, repository, branch);
    }
    Ok(Some(at).filter(|at| !at.as_os_str().is_empty()))
}

fn checked_out_besides(
    git: &Git,
    repository: &Repository,
    branch: &str,
) -> Result<Option<PathBuf>, GitError> {
    let list = repository.look(git, "worktree").args(["list", "--porcelain"]).bytes()?;
    let sign = format!("\nbranch refs/heads/{branch}\n");
    let list = String::from_utf8_lossy(&list) + "\n\n";
    let mut worktrees = list.split_inclusive("\n\n");
    let found = worktrees.find(|worktree| worktree.contains(&sign));
    let path = found.and_then(|found| found.strip_prefix("worktree ")?.lines().next());
    Ok(path.map(PathBuf::from))
}

/// A branch `a` forbids `a/b`, and the other way round.
fn in_the_way(
    git: &Git,
    repository: &Repository,
    branch: &str,
) -> Result<Option<String>, GitError> {
    let list = |name: &str| {
        let list = repository
            .look(git, "for-each-ref")
            .args(["--count=1", "--format=%(refname:lstrip=2)"]);
        list.arg(format!("refs/heads/{name}")).text()
    };
    let below = list(&format!("{branch}/"))?;
    if !below.is_empty() {
        return Ok(Some(below));
    }
    for (end, _) in branch.match_indices('/') {
        // Asked for `a`, git also lists what is below `a/`.
        if list(&branch[..end])? == branch[..end] {
            return Ok(Some(branch[..end].to_owned()));
        }
    }
    Ok(None)
}

/// The one remote that has a branch of this name.
fn of_a_remote(
    git: &Git,
    repository: &Repository,
    branch: &str,
) -> Result<Option<(String, String)>, Refusal> {
    let list =
        repository.look(git, "for-each-ref").arg("--format=%(objectname) %(refname:lstrip=2)");
    let list = list.arg(format!("refs/remotes/*/{branch}")).text()?;
    let found: Vec<(&str, &str)> = list
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(commit, name)| Some((name.strip_suffix(branch)?.strip_suffix('/')?, commit)))
        .collect();
    match found.as_slice() {
        [] => Ok(None),
        [(remote, commit)] => Ok(Some(((*remote).to_owned(), (*commit).to_owned()))),
        several => {
            let remotes = several.iter().map(|(remote, _)| *remote).collect::<Vec<_>>().join(", ");
            Err(Refusal::SeveralRemotes { branch: branch.to_owned(), remotes })
        }
    }
}

//! Repositories and worktrees within a worktree: git's own look passes over them, where they are ignored.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::findings::{Nested, NestedWorth};
use crate::git::{Git, GitError};
use crate::record::Record;
use crate::standing::{LookError, pointer};

use super::JudgeError;

/// More than this are not looked into: they count as valuable.
const MOST: usize = 200;

/// Looks for repositories in all folders; not through links, nor on other disks.
pub(super) fn find(git: &Git, record: &Record) -> Result<Vec<Nested>, JudgeError> {
    let device = look(&record.path, |path| fs::symlink_metadata(path))?.dev();
    let mut found = Vec::new();
    let mut folders = vec![record.path.clone()];
    while let Some(folder) = folders.pop() {
        let is_top = folder == record.path;
        let mut below = Vec::new();
        let (mut link, mut signs) = (None, 0);
        for entry in look(&folder, |path| fs::read_dir(path)?.collect::<Result<Vec<_>, _>>())? {
            let kind = look(&entry.path(), |_| entry.file_type())?;
            let name = entry.file_name();
            if name == ".git" {
                link = Some(entry.path());
            } else if kind.is_dir() {
                signs += usize::from(name == "objects" || name == "refs");
                below.push(entry.path());
            } else {
                signs += usize::from(name == "HEAD");
            }
        }
        match link {
            Some(link) if !is_top => found.push(Found { folder: folder.clone(), link: Some(link) }),
            None if signs == 3 && !is_top => {
                // A bare repository: what is in it is git's.
                found.push(Found { folder, link: None });
                continue;
            }
            _ => {}
        }
        for folder in below {
            if look(&folder, |path| fs::symlink_metadata(path))?.dev() == device {
                folders.push(folder);
            }
        }
    }
    let judged = found.into_iter().enumerate().map(|(index, found)| {
        let path = found.folder.strip_prefix(&record.path).unwrap_or(&found.folder).to_owned();
        let worth = if index < MOST { worth(git, record, &found) } else { too_many() };
        Nested { path, worth }
    });
    Ok(judged.collect())
}

struct Found {
    folder: PathBuf,
    /// Its `.git`; none if it is bare.
    link: Option<PathBuf>,
}

fn too_many() -> NestedWorth {
    NestedWorth::Unknown(format!("there are more than {MOST} of them"))
}

fn look<T>(path: &Path, look: impl FnOnce(&Path) -> std::io::Result<T>) -> Result<T, LookError> {
    look(path).map_err(|source| LookError { path: path.to_owned(), source })
}

fn worth(git: &Git, record: &Record, found: &Found) -> NestedWorth {
    let Some(link) = &found.link else {
        return unless_unknown(commits(git, &found.folder));
    };
    if !link.is_file() {
        return unless_unknown(in_repository(git, link, &found.folder));
    }
    match pointer(link, "gitdir: ") {
        // A submodule of a worktree has its repository in the worktree's entry, and goes with it.
        Ok(Some(own)) if is_below(&own, &record.entry()) => {
            unless_unknown(in_repository(git, &own, &found.folder))
        }
        Ok(Some(_)) => NestedWorth::Worktree,
        Ok(None) => NestedWorth::Unknown("its .git leads nowhere".to_owned()),
        Err(error) => NestedWorth::Unknown(error.to_string()),
    }
}

fn is_below(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize();
    matches!((real(path), real(folder)), (Ok(path), Ok(folder)) if path.starts_with(&folder))
}

fn unless_unknown(worth: Result<NestedWorth, GitError>) -> NestedWorth {
    worth.unwrap_or_else(|error| NestedWorth::Unknown(error.to_string()))
}

fn in_repository(git: &Git, git_dir: &Path, files: &Path) -> Result<NestedWorth, GitError> {
    let status = git.look("status").on(git_dir).with_files(files);
    let status = status.args(["--porcelain", "-z", "--untracked-files=normal"]);
    let said = status.arg("--ignore-submodules=none").succeed()?;
    if !said.out.is_empty() {
        return Ok(NestedWorth::Changes);
    }
    commits(git, git_dir)
}

/// Commits of any reference, the stash included, that no remote is known to have.
fn commits(git: &Git, git_dir: &Path) -> Result<NestedWorth, GitError> {
    let count = git.look("rev-list").on(git_dir).args(["--count", "--all", "--not", "--remotes"]);
    let answer = count.text()?;
    match answer.parse() {
        Ok(0) => Ok(NestedWorth::Nothing),
        Ok(count) => Ok(NestedWorth::Commits(count)),
        Err(_text) => Err(GitError::Garbled { what: "rev-list".to_owned(), answer }),
    }
}

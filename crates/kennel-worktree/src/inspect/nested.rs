//! Finds repositories and worktrees inside a worktree. `git status` doesn't show them if they are
//! ignored.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::disk_state::{look, pointer};
use crate::findings::{NestedRepository, NestedWorth};
use crate::git::{Git, GitError};
use crate::record::WorktreeRecord;

use super::InspectError;

/// Further ones are not inspected, and count as valuable.
const MAX_NESTED: usize = 200;

/// Searches all folders, without following links or entering other disks.
pub(super) fn find(
    git: &Git,
    record: &WorktreeRecord,
) -> Result<Vec<NestedRepository>, InspectError> {
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
            Some(link) if !is_top => {
                found.push(NestedFolder { folder: folder.clone(), link: Some(link) })
            }
            None if signs == 3 && !is_top => {
                // A bare repository: its folders are git's own.
                found.push(NestedFolder { folder, link: None });
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
        let worth = if index < MAX_NESTED { worth(git, record, &found) } else { too_many() };
        NestedRepository { path, worth }
    });
    Ok(judged.collect())
}

struct NestedFolder {
    folder: PathBuf,
    /// Its `.git`; `None` for a bare repository.
    link: Option<PathBuf>,
}

fn too_many() -> NestedWorth {
    NestedWorth::Unknown(format!("there are more than {MAX_NESTED} of them"))
}

fn worth(git: &Git, record: &WorktreeRecord, found: &NestedFolder) -> NestedWorth {
    let Some(link) = &found.link else {
        return or_unknown(commits(git, &found.folder));
    };
    if !link.is_file() {
        return or_unknown(in_repository(git, link, &found.folder));
    }
    match pointer(link, "gitdir: ") {
        // The repository of a submodule is in the worktree's entry, and is removed with it.
        Ok(Some(own)) if is_below(&own, &record.entry()) => {
            or_unknown(in_repository(git, &own, &found.folder))
        }
        Ok(Some(_)) => NestedWorth::Worktree,
        Ok(None) => NestedWorth::Unknown("its .git file is invalid".to_owned()),
        Err(error) => NestedWorth::Unknown(error.to_string()),
    }
}

fn is_below(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize();
    matches!((real(path), real(folder)), (Ok(path), Ok(folder)) if path.starts_with(&folder))
}

fn or_unknown(worth: Result<NestedWorth, GitError>) -> NestedWorth {
    worth.unwrap_or_else(|error| NestedWorth::Unknown(error.to_string()))
}

fn in_repository(git: &Git, git_dir: &Path, files: &Path) -> Result<NestedWorth, GitError> {
    let status = git.read("status").on(git_dir).with_work_tree(files);
    let status = status.args(["--porcelain", "-z", "--untracked-files=normal"]);
    let output = status.arg("--ignore-submodules=none").succeed()?;
    if !output.stdout.is_empty() {
        return Ok(NestedWorth::Changes);
    }
    commits(git, git_dir)
}

/// Counts the commits of all references, including the stash, that no remote has.
fn commits(git: &Git, git_dir: &Path) -> Result<NestedWorth, GitError> {
    let count = git.read("rev-list").on(git_dir).args(["--count", "--all", "--not", "--remotes"]);
    let answer = count.text()?;
    match answer.parse() {
        Ok(0) => Ok(NestedWorth::Nothing),
        Ok(count) => Ok(NestedWorth::Commits(count)),
        Err(_text) => Err(GitError::InvalidOutput { what: "rev-list".to_owned(), answer }),
    }
}

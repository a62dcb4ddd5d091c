//! Finds the repository of a folder.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{Checkout, PlanWorktreeError};
use crate::git::{Git, GitCall, GitError};

/// A repository, with the user's current folder in it.
pub(super) struct Repository {
    pub(super) folder: PathBuf,
    /// The folder that all its worktrees share.
    pub(super) common: PathBuf,
    /// The user's folder, relative to the checkout; empty for its top.
    pub(super) subfolder: PathBuf,
    /// Whether the user's folder is in a checkout.
    pub(super) has_files: bool,
}

impl Repository {
    /// Starts a read-only call in the user's folder.
    pub(super) fn read<'a>(&self, git: &'a Git, verb: &str) -> GitCall<'a> {
        git.read(verb).in_folder(&self.folder)
    }

    pub(super) fn name(&self) -> OsString {
        let last = |path: &Path| path.file_name().unwrap_or_default().to_owned();
        let own = last(&self.common);
        if own == ".git" {
            return self.common.parent().map(last).unwrap_or_default();
        }
        let bytes = own.as_bytes();
        OsStr::from_bytes(bytes.strip_suffix(b".git").unwrap_or(bytes)).to_owned()
    }
}

/// Finds the repository that a folder is in.
pub(super) fn find(git: &Git, folder: &Path) -> Result<Repository, PlanWorktreeError> {
    let failed = |source| PlanWorktreeError::Folder { folder: folder.to_owned(), source };
    let folder = folder.canonicalize().map_err(failed)?;
    std::fs::read_dir(&folder).map_err(failed)?;
    // One call per value, because a path may contain newlines.
    let rev_parse = |option: &str| {
        git.read("rev-parse").args(["--path-format=absolute", option]).in_folder(&folder)
    };
    let common = rev_parse("--git-common-dir").path().map_err(|error| explain(&folder, error))?;
    let has_files = rev_parse("--is-inside-work-tree").text()? == "true";
    let subfolder = if has_files { rev_parse("--show-prefix").bytes()? } else { Vec::new() };
    let subfolder = PathBuf::from(OsString::from_vec(subfolder));
    Ok(Repository { folder, common, subfolder, has_files })
}

/// Returns whether the checkout has changes.
pub(super) fn checkout(git: &Git, folder: &Path) -> Checkout {
    let status = git.read("status").args(["--porcelain", "-z", "--untracked-files=normal"]);
    match status.in_folder(folder).succeed() {
        Ok(output) if output.stdout.is_empty() => Checkout::Clean,
        Ok(_) => Checkout::Dirty,
        Err(_) => Checkout::Unknown,
    }
}

fn explain(folder: &Path, error: GitError) -> PlanWorktreeError {
    let folder = folder.to_owned();
    match error {
        GitError::Failed { message, .. } if message.contains("dubious ownership") => {
            PlanWorktreeError::DubiousOwner { folder, message }
        }
        GitError::Failed { message, .. } if message.contains("not a git repository") => {
            PlanWorktreeError::NotARepository { folder }
        }
        error => error.into(),
    }
}

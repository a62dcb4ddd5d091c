//! Finding the repository of a folder.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{Checkout, Refusal};
use crate::git::{Call, Git, GitError};

/// A repository, and where in it the user stands.
pub(super) struct Repository {
    pub(super) folder: PathBuf,
    /// What all its worktrees share.
    pub(super) common: PathBuf,
    /// The user's folder within the checkout; empty for its top.
    pub(super) subfolder: PathBuf,
    /// Whether the user stands in a checkout.
    pub(super) has_files: bool,
}

impl Repository {
    /// A look, as from the user's folder.
    pub(super) fn look<'a>(&self, git: &'a Git, verb: &str) -> Call<'a> {
        git.look(verb).found_from(&self.folder)
    }

    /// What people call it.
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
pub(super) fn find(git: &Git, folder: &Path) -> Result<Repository, Refusal> {
    let failed = |source| Refusal::Folder { folder: folder.to_owned(), source };
    let folder = folder.canonicalize().map_err(failed)?;
    std::fs::read_dir(&folder).map_err(failed)?;
    // One question a call: a path may have newlines in it.
    let ask = |question: &str| {
        git.look("rev-parse").args(["--path-format=absolute", question]).found_from(&folder)
    };
    let common = ask("--git-common-dir").path().map_err(|error| explain(&folder, error))?;
    let has_files = ask("--is-inside-work-tree").text()? == "true";
    let subfolder = if has_files { ask("--show-prefix").bytes()? } else { Vec::new() };
    let subfolder = PathBuf::from(OsString::from_vec(subfolder));
    Ok(Repository { folder, common, subfolder, has_files })
}

/// Whether the checkout has changes.
pub(super) fn checkout(git: &Git, folder: &Path) -> Checkout {
    let status = git.look("status").args(["--porcelain", "-z", "--untracked-files=normal"]);
    match status.found_from(folder).succeed() {
        Ok(said) if said.out.is_empty() => Checkout::Clean,
        Ok(_) => Checkout::Dirty,
        Err(_) => Checkout::Unknown,
    }
}

fn explain(folder: &Path, error: GitError) -> Refusal {
    let folder = folder.to_owned();
    match error {
        GitError::Failed { said, .. } if said.contains("dubious ownership") => {
            Refusal::DubiousOwner { folder, said }
        }
        GitError::Failed { said, .. } if said.contains("not a git repository") => {
            Refusal::NotARepository { folder }
        }
        error => error.into(),
    }
}

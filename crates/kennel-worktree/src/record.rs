//! The record of a worktree, which the caller stores before the worktree is created.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Everything that is needed to create, inspect and remove a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeRecord {
    /// The session that uses it.
    pub session: String,
    /// The repository's common folder: `.git` of the main checkout, or the bare repository.
    #[serde(with = "path")]
    pub repo: PathBuf,
    /// The folder of the worktree.
    #[serde(with = "path")]
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// Whether the branch is created for it (and may be deleted with it).
    pub branch_created: bool,
    /// Its first commit.
    pub base: String,
    /// The user's current folder within the repository; empty for its top.
    #[serde(with = "path", default)]
    pub subfolder: PathBuf,
}

impl WorktreeRecord {
    /// Returns the session's working folder: the same subfolder as the user's, if the worktree has
    /// it. Reads the disk.
    #[must_use]
    pub fn cwd(&self) -> PathBuf {
        // Git prints it with a slash at the end.
        let subfolder: PathBuf = self.path.join(&self.subfolder).components().collect();
        if subfolder.is_dir() { subfolder } else { self.path.clone() }
    }

    /// Returns the default branch of a session.
    pub(crate) fn branch_of(session: &str) -> String {
        format!("kennel/{session}")
    }

    pub(crate) fn refname(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Returns git's entry for the worktree. Git names it after the folder, whose name a plan
    /// chooses so that git doesn't change it.
    pub(crate) fn entry(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default();
        self.repo.join("worktrees").join(name)
    }

    /// Returns the lock file. It exists from before the creation of the worktree until after its
    /// removal, so it also shows that the disk of the worktree is mounted.
    pub(crate) fn lock(&self) -> PathBuf {
        self.with_suffix(".lock")
    }

    /// Returns the name of the worktree's folder during its removal. If it exists, the removal was
    /// decided.
    pub(crate) fn removal_folder(&self) -> PathBuf {
        self.with_suffix(".removing")
    }

    /// Returns the reason of git's lock on an incomplete worktree.
    pub(crate) fn unfinished_reason(&self) -> String {
        format!("kennel {}: being made", self.session)
    }

    /// Returns the first reflog message of a branch that was created for this session.
    pub(crate) fn branch_reflog_message(&self) -> String {
        format!("kennel: made for session {}", self.session)
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        name.into()
    }
}

/// Stores paths as text, or as bytes if they are not UTF-8.
mod path {
    use super::{
        Deserialize, Deserializer, OsStrExt, OsString, OsStringExt, Path, PathBuf, Serialize,
        Serializer,
    };

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum PathText {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        let written = match path.to_str() {
            Some(text) => PathText::Text(text.to_owned()),
            None => PathText::Bytes(path.as_os_str().as_bytes().to_vec()),
        };
        written.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match PathText::deserialize(from)? {
            PathText::Text(text) => PathBuf::from(text),
            PathText::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_any_path() {
        for path in [&b"/plain"[..], b"/new\nline", b"/\xff\xfe", "/h\u{fc}tte".as_bytes()] {
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            let record = WorktreeRecord {
                session: "s".to_owned(),
                repo: path.clone(),
                path: path.clone(),
                branch: "b".to_owned(),
                branch_created: true,
                base: "0".to_owned(),
                subfolder: path,
            };
            let text = serde_json::to_string(&record).expect("serialized");
            let back: WorktreeRecord = serde_json::from_str(&text).expect("parsed");
            assert_eq!(back, record);
        }
    }
}

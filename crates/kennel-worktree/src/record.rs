//! What is written down of a worktree before anything of it is made.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Everything that is needed to make, judge and remove a worktree, and nothing else is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The session it is for.
    pub session: String,
    /// The repository: its common folder, `.git` of the main checkout or a bare repository.
    #[serde(with = "path")]
    pub repo: PathBuf,
    /// Where the worktree is, or will be.
    #[serde(with = "path")]
    pub path: PathBuf,
    /// The branch that is checked out in it, without `refs/heads/`.
    pub branch: String,
    /// Whether the branch is made for it (and may go with it), or was there before.
    pub branch_created: bool,
    /// The commit that it starts from.
    pub base: String,
    /// The folder within the repository in which the user stood; empty for its top.
    #[serde(with = "path", default)]
    pub subfolder: PathBuf,
}

impl Record {
    /// Where whoever works in it starts: the folder in which the user stood, if the worktree has it. Looks at the disk.
    #[must_use]
    pub fn cwd(&self) -> PathBuf {
        // Git says `sub/`.
        let subfolder: PathBuf = self.path.join(&self.subfolder).components().collect();
        if subfolder.is_dir() { subfolder } else { self.path.clone() }
    }

    /// The branch for a session whose user named none.
    pub(crate) fn branch_of(session: &str) -> String {
        format!("kennel/{session}")
    }

    /// The branch's full name.
    pub(crate) fn refname(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Git's entry for the worktree. Git names it by the folder; a plan chooses the folder's name so that
    /// git takes it as it is.
    pub(crate) fn entry(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default();
        self.repo.join("worktrees").join(name)
    }

    /// Held while something is done with the worktree. There from before it is made until it is gone, so it
    /// also shows that the disk with the place on it is there.
    pub(crate) fn lock(&self) -> PathBuf {
        self.beside(".lock")
    }

    /// The worktree's folder while it is removed. That it is there says: it was judged, and is to go.
    pub(crate) fn condemned(&self) -> PathBuf {
        self.beside(".removing")
    }

    /// What the worktree is locked with until it is whole.
    pub(crate) fn unfinished_mark(&self) -> String {
        format!("kennel {}: being made", self.session)
    }

    /// What the branch's reflog begins with if it was made for this session.
    pub(crate) fn branch_mark(&self) -> String {
        format!("kennel: made for session {}", self.session)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }
}

/// Paths as text, or as bytes where they are none: a path need not be UTF-8, and a record must hold any.
mod path {
    use super::{
        Deserialize, Deserializer, OsStrExt, OsString, OsStringExt, Path, PathBuf, Serialize,
        Serializer,
    };

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        let written = match path.to_str() {
            Some(text) => Written::Text(text.to_owned()),
            None => Written::Bytes(path.as_os_str().as_bytes().to_vec()),
        };
        written.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Written::deserialize(from)? {
            Written::Text(text) => PathBuf::from(text),
            Written::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_any_path_comes_back_as_it_was() {
        for path in [&b"/plain"[..], b"/new\nline", b"/\xff\xfe", "/h\u{fc}tte".as_bytes()] {
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            let record = Record {
                session: "s".to_owned(),
                repo: path.clone(),
                path: path.clone(),
                branch: "b".to_owned(),
                branch_created: true,
                base: "0".to_owned(),
                subfolder: path,
            };
            let text = serde_json::to_string(&record).expect("any record can be written");
            let back: Record = serde_json::from_str(&text).expect("and be read");
            assert_eq!(back, record);
        }
    }
}

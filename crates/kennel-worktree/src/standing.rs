//! How a worktree stands: what of it is on disk, before git is asked anything.
//!
//! ```text
//! Absent ── make ──► Unfinished ──► Whole ── remove ──► Condemned ──► Absent
//!                                     │
//!               FolderGone, Moved, Replaced, Unregistered, …   (somebody else's doing)
//! ```

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::record::Record;

/// What of a worktree is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Standing {
    /// Nothing of it; its branch may be there.
    Absent,
    /// It was never finished: whoever made it was interrupted. No session has run in it.
    Unfinished,
    /// It is there, and is as git knows it.
    Whole,
    /// It was judged and is being removed.
    Condemned,
    /// Git knows it, its folder was deleted.
    FolderGone,
    /// Neither it nor the place that it was in can be seen, and git knows it, or can't be seen as well: a disk that is
    /// not mounted, perhaps.
    PlaceGone,
    /// Somebody has moved it here.
    Moved(PathBuf),
    /// Its folder is there, but belongs to another repository by now.
    Replaced,
    /// Its folder is there, with something in it, and git does not know it.
    Unregistered,
    /// Its folder is there, its repository is gone.
    RepositoryGone,
}

/// Why it can't be told how a worktree stands.
#[derive(Debug, thiserror::Error)]
#[error("can't look at {path}")]
pub struct LookError {
    /// At what.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl Standing {
    /// Looks.
    ///
    /// # Errors
    /// A look failed, so nothing is known.
    pub(crate) fn of(record: &Record) -> Result<Self, LookError> {
        if Kind::of(&record.condemned())? != Kind::None {
            return Ok(Self::Condemned);
        }
        let folder = Kind::of(&record.path)?;
        if Kind::of(&record.repo)? == Kind::None {
            return match folder {
                Kind::None if Kind::of(&record.lock())? == Kind::None => Ok(Self::PlaceGone),
                Kind::None => Ok(Self::Absent),
                _ => Ok(Self::RepositoryGone),
            };
        }
        match (Kind::of(&record.entry())?, folder) {
            (Kind::None, Kind::None) => Ok(Self::Absent),
            (Kind::None, Kind::EmptyFolder) => Ok(Self::Unfinished),
            (Kind::None, _) => Ok(Self::Unregistered),
            (_, folder) => Self::of_entry(record, folder),
        }
    }

    fn of_entry(record: &Record, folder: Kind) -> Result<Self, LookError> {
        let entry = record.entry();
        if lock_reason(&entry)?.is_some_and(|reason| reason == record.unfinished_mark()) {
            return Ok(Self::Unfinished);
        }
        let Some(known_at) = pointer(&entry.join("gitdir"), "")? else {
            // Git writes this file first of all, so it was interrupted before there was anything in the folder.
            let begun = matches!(folder, Kind::None | Kind::EmptyFolder);
            return Ok(if begun { Self::Unfinished } else { Self::Unregistered });
        };
        let link = record.path.join(".git");
        if known_at != link && !is_same(&known_at, &link)? {
            let moved = known_at.parent().unwrap_or(&known_at);
            return Ok(Self::Moved(moved.to_owned()));
        }
        match folder {
            Kind::None if Kind::of(&record.lock())? == Kind::None => return Ok(Self::PlaceGone),
            Kind::None => return Ok(Self::FolderGone),
            Kind::EmptyFolder => return Ok(Self::FolderGone),
            Kind::Folder | Kind::Other => {}
        }
        match Kind::of(&link)? {
            // Whoever deleted the link can't hide the files: git is told where they are.
            Kind::None => Ok(Self::Whole),
            Kind::Other => match pointer(&link, "gitdir: ")? {
                Some(leads_to) if is_same(&leads_to, &entry)? => Ok(Self::Whole),
                _ => Ok(Self::Replaced),
            },
            Kind::Folder | Kind::EmptyFolder => Ok(Self::Replaced),
        }
    }
}

/// What is at a path; a symbolic link is something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    None,
    EmptyFolder,
    Folder,
    Other,
}

impl Kind {
    pub(crate) fn of(path: &Path) -> Result<Self, LookError> {
        let failed = |source| LookError { path: path.to_owned(), source };
        let Some(meta) = there(fs::symlink_metadata(path)).map_err(failed)? else {
            return Ok(Self::None);
        };
        if !meta.is_dir() {
            return Ok(Self::Other);
        }
        // One that can't be read has something in it, for all we know.
        let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        Ok(if is_empty { Self::EmptyFolder } else { Self::Folder })
    }
}

/// Why a worktree is locked, if it is.
pub(crate) fn lock_reason(entry: &Path) -> Result<Option<String>, LookError> {
    let path = entry.join("locked");
    let read = there(fs::read(&path)).map_err(|source| LookError { path, source })?;
    Ok(read.map(|text| String::from_utf8_lossy(&text).trim_end().to_owned()))
}

/// The path that a file of git's leads to, after this prefix; none if there is no such file, or it is empty.
pub(crate) fn pointer(file: &Path, prefix: &str) -> Result<Option<PathBuf>, LookError> {
    let failed = |source| LookError { path: file.to_owned(), source };
    let Some(text) = there(fs::read(file)).map_err(failed)? else {
        return Ok(None);
    };
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let Some(text) = text.strip_prefix(prefix.as_bytes()).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let path = PathBuf::from(OsString::from_vec(text.to_vec()));
    // Newer versions of git can write relative paths here.
    Ok(Some(file.parent().unwrap_or(file).join(path)))
}

/// Whether two paths lead to one thing. Two that lead nowhere are the same only by their text.
pub(crate) fn is_same(one: &Path, other: &Path) -> Result<bool, LookError> {
    let look = |path: &Path| {
        there(fs::metadata(path)).map_err(|source| LookError { path: path.to_owned(), source })
    };
    Ok(match (look(one)?, look(other)?) {
        (Some(one), Some(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => normal(one) == normal(other),
    })
}

/// Without `.` and `..`, as far as text can tell.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// What a look found; none if there is nothing.
fn there<T>(looked: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name by which git calls the entry of a folder with this name: only what git takes as it is, and what is no
/// trouble in a shell.
pub(crate) fn plain_name(name: &std::ffi::OsStr) -> String {
    const LONGEST: usize = 60;
    let plain = |byte: &u8| if byte.is_ascii_alphanumeric() { *byte as char } else { '-' };
    let name: String = name.as_bytes().iter().take(LONGEST).map(plain).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "repository".to_owned() } else { name.to_owned() }
}

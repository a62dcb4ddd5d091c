//! Which parts of a worktree exist on the disk, found without calling git.
//!
//! ```text
//! Absent ── create ──► Unfinished ──► Complete ── remove ──► BeingRemoved ──► Absent
//!                                       │
//!                 FolderGone, Moved, Replaced, Unregistered, … (the user or another program)
//! ```

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::record::WorktreeRecord;

/// Which parts of a worktree exist on the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub enum DiskState {
    /// None; its branch may exist.
    #[default]
    Absent,
    /// Its creation was interrupted. No session has run in it.
    Unfinished,
    Complete,
    /// Its removal was decided, and has begun.
    BeingRemoved,
    /// Only git's entry: the folder was deleted.
    FolderGone,
    /// The folder and its parent are missing, for example because a disk is not mounted. Git's
    /// entry exists, or the repository is missing too.
    ParentGone,
    Moved(PathBuf),
    /// Its folder now belongs to another repository.
    Replaced,
    /// Its folder has contents, but git has no entry for it.
    Unregistered,
    /// Its folder exists, but its repository doesn't.
    RepositoryGone,
}

#[derive(Debug, thiserror::Error)]
#[error("can't read {path}")]
pub struct ReadPathError {
    /// The file or folder.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl DiskState {
    /// Reads the state.
    ///
    /// # Errors
    /// A file or folder could not be read, so the state is unknown.
    pub(crate) fn of(record: &WorktreeRecord) -> Result<Self, ReadPathError> {
        if exists(&record.removal_folder())? {
            return Ok(Self::BeingRemoved);
        }
        let folder = PathKind::of(&record.path)?;
        if !exists(&record.repo)? {
            return match folder {
                PathKind::None if !exists(&record.lock())? => Ok(Self::ParentGone),
                PathKind::None => Ok(Self::Absent),
                _ => Ok(Self::RepositoryGone),
            };
        }
        match (PathKind::of(&record.entry())?, folder) {
            (PathKind::None, PathKind::None) => Ok(Self::Absent),
            (PathKind::None, PathKind::EmptyFolder) => Ok(Self::Unfinished),
            (PathKind::None, _) => Ok(Self::Unregistered),
            (_, folder) => Self::of_entry(record, folder),
        }
    }

    fn of_entry(record: &WorktreeRecord, folder: PathKind) -> Result<Self, ReadPathError> {
        let entry = record.entry();
        if lock_reason(&entry)?.is_some_and(|reason| reason == record.unfinished_reason()) {
            return Ok(Self::Unfinished);
        }
        let Some(known_at) = pointer(&entry.join("gitdir"), "")? else {
            // Git writes this file first, so it was interrupted before it wrote to the folder.
            let interrupted = matches!(folder, PathKind::None | PathKind::EmptyFolder);
            return Ok(if interrupted { Self::Unfinished } else { Self::Unregistered });
        };
        let link = record.path.join(".git");
        if known_at != link && !is_same(&known_at, &link)? {
            let moved = known_at.parent().unwrap_or(&known_at);
            return Ok(Self::Moved(moved.to_owned()));
        }
        match folder {
            PathKind::None if !exists(&record.lock())? => return Ok(Self::ParentGone),
            PathKind::None | PathKind::EmptyFolder => return Ok(Self::FolderGone),
            PathKind::Folder | PathKind::Other => {}
        }
        match PathKind::of(&link)? {
            // The link was deleted, but the files are still inspected: git gets their path
            // explicitly.
            PathKind::None => Ok(Self::Complete),
            PathKind::Other => match pointer(&link, "gitdir: ")? {
                Some(leads_to) if is_same(&leads_to, &entry)? => Ok(Self::Complete),
                _ => Ok(Self::Replaced),
            },
            PathKind::Folder | PathKind::EmptyFolder => Ok(Self::Replaced),
        }
    }
}

/// What exists at a path. A symbolic link counts as [`PathKind::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    None,
    EmptyFolder,
    Folder,
    Other,
}

impl PathKind {
    pub(crate) fn of(path: &Path) -> Result<Self, ReadPathError> {
        let Some(meta) = look(path, |path| if_exists(fs::symlink_metadata(path)))? else {
            return Ok(Self::None);
        };
        if !meta.is_dir() {
            return Ok(Self::Other);
        }
        // A folder that can't be read may have contents.
        let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        Ok(if is_empty { Self::EmptyFolder } else { Self::Folder })
    }
}

/// Returns whether anything exists at a path.
pub(crate) fn exists(path: &Path) -> Result<bool, ReadPathError> {
    Ok(PathKind::of(path)? != PathKind::None)
}

/// Returns the reason of git's lock on a worktree, if it is locked.
pub(crate) fn lock_reason(entry: &Path) -> Result<Option<String>, ReadPathError> {
    let path = entry.join("locked");
    let read = look(&path, |path| if_exists(fs::read(path)))?;
    Ok(read.map(|text| String::from_utf8_lossy(&text).trim_end().to_owned()))
}

/// Reads the path in one of git's files, after this prefix. Returns `None` if the file is missing
/// or empty.
pub(crate) fn pointer(file: &Path, prefix: &str) -> Result<Option<PathBuf>, ReadPathError> {
    let Some(text) = look(file, |file| if_exists(fs::read(file)))? else { return Ok(None) };
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let Some(text) = text.strip_prefix(prefix.as_bytes()).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let path = PathBuf::from(OsString::from_vec(text.to_vec()));
    // Newer versions of git may write a relative path.
    Ok(Some(file.parent().unwrap_or(file).join(path)))
}

/// Returns whether two paths lead to the same file. Missing files are compared by path.
pub(crate) fn is_same(one: &Path, other: &Path) -> Result<bool, ReadPathError> {
    let stat = |path: &Path| look(path, |path| if_exists(fs::metadata(path)));
    Ok(match (stat(one)?, stat(other)?) {
        (Some(one), Some(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => normal(one) == normal(other),
    })
}

/// Resolves `.` and `..` without reading the disk.
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

/// Reads something at a path, and adds the path to an error.
pub(crate) fn look<T>(
    path: &Path,
    read: impl FnOnce(&Path) -> io::Result<T>,
) -> Result<T, ReadPathError> {
    read(path).map_err(|source| ReadPathError { path: path.to_owned(), source })
}

/// Maps a missing file to `None`.
pub(crate) fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Converts a name to one that git uses unchanged for its entry, and that needs no quotes in a
/// shell.
pub(crate) fn safe_name(name: &std::ffi::OsStr) -> String {
    const MAX_LENGTH: usize = 60;
    let plain = |byte: &u8| if byte.is_ascii_alphanumeric() { *byte as char } else { '-' };
    let name: String = name.as_bytes().iter().take(MAX_LENGTH).map(plain).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "repository".to_owned() } else { name.to_owned() }
}

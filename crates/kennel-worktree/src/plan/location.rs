//! Chooses the folder of a worktree, and checks that the disk has space for it.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Access;

use super::PlanWorktreeError;
use crate::disk_state::{exists, safe_name};
use crate::git::Git;

/// The free space that is needed besides the files: for the index, the entry, and other programs.
const MIN_FREE_BYTES: u64 = 1024 * 1024;
const MIN_FREE_FILES: u64 = 64;

/// The size of a block: a file uses whole blocks.
const BLOCK: u64 = 4096;
/// Enough for the file list of a large repository.
const MAX_LIST_BYTES: usize = 256 * 1024 * 1024;
/// The estimate is not worth more time.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Returns the folder of a worktree, after checking that its parent has space for this size.
pub(super) fn choose(
    parent: &Path,
    repository: &OsString,
    session: &str,
    size: u64,
) -> Result<PathBuf, PlanWorktreeError> {
    let refuse = |why: String| PlanWorktreeError::Location { parent: parent.to_owned(), why };
    if !parent.is_absolute() {
        return Err(refuse("the path must be absolute".to_owned()));
    }
    let (existing, rest) = nearest_existing(parent).map_err(|error| refuse(error.to_string()))?;
    let may = Access::WRITE_OK | Access::EXEC_OK;
    if let Err(error) = rustix::fs::access(&existing, may) {
        let why = io::Error::from(error);
        return Err(refuse(format!("{} is not writable: {why}", existing.display())));
    }
    match FreeSpace::of(&existing) {
        Ok(free) if free.is_enough_for(size) => {}
        Ok(free) => {
            let why = format!("the disk is full: {size} bytes are needed, {free} are free");
            return Err(refuse(why));
        }
        Err(error) => return Err(refuse(error.to_string())),
    }
    let name = format!("{}-{session}", safe_name(repository));
    Ok(existing.join(rest).join(name))
}

/// The free space on the disk of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreeSpace {
    bytes: u64,
    files: u64,
}

impl FreeSpace {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let disk = rustix::fs::statvfs(path)?;
        // File systems without a fixed number of files report 0.
        let files = if disk.f_files > 0 { disk.f_favail } else { u64::MAX };
        Ok(Self { bytes: disk.f_bavail.saturating_mul(disk.f_frsize), files })
    }

    pub(crate) fn is_enough_for(self, size: u64) -> bool {
        self.bytes >= size.saturating_add(MIN_FREE_BYTES) && self.files >= MIN_FREE_FILES
    }
}

impl fmt::Display for FreeSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {} files", self.bytes, self.files)
    }
}

/// Refuses an existing path.
pub(super) fn must_be_free(path: &Path) -> Result<(), PlanWorktreeError> {
    if exists(path)? {
        return Err(PlanWorktreeError::Taken { path: path.to_owned() });
    }
    Ok(())
}

/// Returns the nearest existing folder, with symbolic links resolved (as git does), and the rest of
/// the path.
fn nearest_existing(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let mut below = Vec::new();
    for folder in path.ancestors() {
        match fs::canonicalize(folder) {
            Ok(real) if real.is_dir() => return Ok((real, below.iter().rev().collect())),
            Ok(_) => {
                let why = format!("{} is not a folder", folder.display());
                return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let Some(name) = folder.file_name() else {
                    let why = format!("{} contains `..`", path.display());
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
                };
                below.push(name.to_owned());
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Returns the bytes that a commit uses on the disk; `None` if git can't list it in time. Filters
/// may add to it.
pub(crate) fn checkout_size(git: &Git, repo: &Path, commit: &str) -> Option<u64> {
    let list = git.read("ls-tree").args(["-r", "-l", "-z", "--full-tree", commit]).on(repo);
    let list = list.limit(TIME_LIMIT).max_output(MAX_LIST_BYTES).bytes().ok()?;
    Some(list.split(|byte| *byte == 0).filter_map(blocks).sum())
}

/// Parses a line: mode, type, id, size, a tab, the path. A submodule has no size.
fn blocks(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b'\t').next()?.rsplit(|byte| *byte == b' ').next()?;
    let size: u64 = std::str::from_utf8(size).ok()?.parse().ok()?;
    Some(size.div_ceil(BLOCK) * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_sizes_up_to_blocks() {
        assert_eq!(blocks(b"100644 blob 0123    5000\tsome file"), Some(8192));
        assert_eq!(blocks(b"160000 commit 0123       -\tmodule"), None);
        assert_eq!(blocks(b""), None);
    }
}

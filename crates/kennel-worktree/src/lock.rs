//! A lock that allows one call at a time for one worktree.
//!
//! Git gets the lock file as its standard input. So it holds the lock until it ends, even if this
//! process dies first: the next caller never sees a worktree that is being created or removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::disk_state::if_exists;

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A held lock. Dropping it releases it, unless a git that has it still runs.
#[derive(Debug)]
pub(crate) struct WorktreeLock {
    file: File,
    path: PathBuf,
}

/// Whether a missing lock file is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingLock {
    Create,
    Leave,
}

/// The lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "another call, or the git that it started, is still running ({path} is locked); try again"
    )]
    Busy { path: PathBuf },
    #[error("can't lock {path}")]
    Open { path: PathBuf, source: io::Error },
}

impl WorktreeLock {
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Removes the file, and releases the lock.
    pub(crate) fn remove(self) -> io::Result<()> {
        // While holding the lock: a waiting process then sees that its file no longer has the path.
        fs::remove_file(&self.path)
    }
}

/// Takes a lock. Returns `None` if the file is missing and is not to be created.
pub(crate) fn take(
    path: &Path,
    missing: MissingLock,
    timeout: Duration,
) -> Result<Option<WorktreeLock>, LockError> {
    let failed = |source| LockError::Open { path: path.to_owned(), source };
    let deadline = Instant::now() + timeout;
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(missing == MissingLock::Create).mode(0o600);
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && missing == MissingLock::Leave =>
            {
                return Ok(None);
            }
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock() {
            Ok(()) if has_path(&file, path).map_err(failed)? => {
                return Ok(Some(WorktreeLock { file, path: path.to_owned() }));
            }
            Ok(()) => {} // its last holder removed the file: try again
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(LockError::Busy { path: path.to_owned() });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(POLL_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// Locks a folder itself, which needs no lock file.
pub(crate) fn take_folder(path: &Path, timeout: Duration) -> io::Result<File> {
    let deadline = Instant::now() + timeout;
    let folder = File::open(path)?;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(folder),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(POLL_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn has_path(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    let there = if_exists(fs::symlink_metadata(path))?;
    Ok(there.is_some_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_caller_waits_until_the_timeout() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let first = take(&path, MissingLock::Create, Duration::ZERO).expect("free").expect("made");
        let second = take(&path, MissingLock::Create, Duration::from_millis(30));
        assert!(matches!(second, Err(LockError::Busy { .. })));
        first.remove().expect("removed");
        assert!(take(&path, MissingLock::Leave, Duration::ZERO).expect("no error").is_none());
    }

    #[test]
    fn a_copy_of_the_descriptor_keeps_the_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let first = take(&path, MissingLock::Create, Duration::ZERO).expect("free").expect("made");
        let copy = first.file().try_clone().expect("a copy");
        drop(first);
        let second = take(&path, MissingLock::Create, Duration::ZERO);
        assert!(matches!(second, Err(LockError::Busy { .. })));
        drop(copy);
        assert!(take(&path, MissingLock::Create, Duration::ZERO).expect("free").is_some());
    }
}

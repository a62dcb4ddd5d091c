//! One call at a time for one worktree.
//!
//! The lock is handed to git as its standard input. So it is held until git has ended too, if we die before it:
//! whoever comes next never sees a worktree that is being made or removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A lock that is held; dropping it lets go, unless a git that has it lives on.
#[derive(Debug)]
pub(crate) struct Held {
    file: File,
    path: PathBuf,
}

/// Whether a lock file that is not there is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Make,
    Leave,
}

/// Why a lock is not held.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error(
        "another call, or a git that it left behind, is still at work ({path} is locked); try again"
    )]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// It can't be opened or made.
    #[error("can't lock {path}")]
    Open {
        /// The lock file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Held {
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Removes the file, and lets go.
    pub(crate) fn remove(self) -> io::Result<()> {
        // Under the lock: whoever waits for it sees that the file is not the one at its path any more.
        fs::remove_file(&self.path)
    }
}

/// Takes a lock; none if the file is not there and is not to be made.
pub(crate) fn take(
    path: &Path,
    missing: IfMissing,
    patience: Duration,
) -> Result<Option<Held>, LockError> {
    let failed = |source| LockError::Open { path: path.to_owned(), source };
    let deadline = Instant::now() + patience;
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(missing == IfMissing::Make).mode(0o600);
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && missing == IfMissing::Leave =>
            {
                return Ok(None);
            }
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock() {
            Ok(()) if is_at(&file, path).map_err(failed)? => {
                return Ok(Some(Held { file, path: path.to_owned() }));
            }
            Ok(()) => {} // removed by its last holder: begin again
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(LockError::Busy { path: path.to_owned() });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(POLL_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// Locks a folder itself, so that nothing is left of it.
pub(crate) fn take_folder(path: &Path, patience: Duration) -> io::Result<File> {
    let deadline = Instant::now() + patience;
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

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_waits_and_gives_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let first = take(&path, IfMissing::Make, Duration::ZERO).expect("free").expect("made");
        let second = take(&path, IfMissing::Make, Duration::from_millis(30));
        assert!(matches!(second, Err(LockError::Busy { .. })));
        first.remove().expect("removed");
        assert!(take(&path, IfMissing::Leave, Duration::ZERO).expect("no error").is_none());
    }

    #[test]
    fn a_copy_holds_it_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let first = take(&path, IfMissing::Make, Duration::ZERO).expect("free").expect("made");
        let copy = first.file().try_clone().expect("a copy");
        drop(first);
        let second = take(&path, IfMissing::Make, Duration::ZERO);
        assert!(matches!(second, Err(LockError::Busy { .. })));
        drop(copy);
        assert!(take(&path, IfMissing::Make, Duration::ZERO).expect("free").is_some());
    }
}

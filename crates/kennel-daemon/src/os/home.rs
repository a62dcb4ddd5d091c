//! The paths of a home, and the lock that allows one daemon.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use kennel_pen::{HomeId, PenName};
use kennel_types::SessionId;
use rustix::fs::FlockOperation;

#[derive(Debug, Clone)]
pub(crate) struct DaemonHome {
    pub(crate) folder: PathBuf,
    pub(crate) id: HomeId,
}

impl DaemonHome {
    pub(crate) fn sessions(&self) -> PathBuf {
        self.folder.join("sessions")
    }

    pub(crate) fn session(&self, id: &SessionId) -> PathBuf {
        self.sessions().join(id.as_str())
    }

    /// Returns the name of a session's pen; every session id is valid in it.
    pub(crate) fn pen_name(&self, id: &SessionId) -> Option<PenName> {
        let session = kennel_pen::PenId::parse(id.as_str()).ok()?;
        Some(PenName { home: self.id.clone(), session })
    }
}

pub(crate) const API_SOCKET: &str = "kennel.sock";
/// The folder of the journal, in the session's folder.
pub(crate) const JOURNAL: &str = "journal";
/// The file with a launch's secret, in the session's folder, for its processes without an
/// environment.
pub(crate) const TOKEN_FILE: &str = "token";
/// The socket in the home to which clients send their standard input.
pub(crate) const STDIN_SOCKET: &str = "deposit.sock";

#[derive(Debug, thiserror::Error)]
pub enum LockHomeError {
    #[error("another daemon serves {0}")]
    Taken(PathBuf),
    #[error("can't lock {path}")]
    Call {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// While this exists, no other daemon serves the home.
#[derive(Debug)]
pub(crate) struct DaemonLock {
    _file: File,
}

impl DaemonLock {
    /// Takes the lock; waits this long for a former daemon to exit.
    pub(crate) fn take(path: &Path, timeout: Duration) -> Result<Self, LockHomeError> {
        let failed = |source| LockHomeError::Call { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = file.map_err(failed)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Self { _file: file }),
            Err(rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(failed(error.into())),
        }
        // `flock` has no timeout, so another thread waits. A thread that never gets the lock ends
        // with the program.
        let (sender, locked) = mpsc::channel();
        std::thread::spawn(move || {
            let taken = rustix::fs::flock(&file, FlockOperation::LockExclusive);
            // The receiver is gone: the lock is released with the file.
            sender.send(taken.map(|()| file)).ok();
        });
        match locked.recv_timeout(timeout) {
            Ok(Ok(file)) => Ok(Self { _file: file }),
            Ok(Err(error)) => Err(failed(error.into())),
            Err(_) => Err(LockHomeError::Taken(path.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_daemon_has_the_lock_and_the_next_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.lock");
        let first = DaemonLock::take(&path, Duration::ZERO).unwrap();
        let second = DaemonLock::take(&path, Duration::from_millis(50));
        assert!(matches!(second, Err(LockHomeError::Taken(_))), "{second:?}");
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || DaemonLock::take(&path, Duration::from_secs(20))
        });
        drop(first);
        waiting.join().unwrap().unwrap();
    }

    #[test]
    fn every_session_has_a_pen_name() {
        let home = DaemonHome { folder: "/h".into(), id: HomeId::random().unwrap() };
        let id = kennel_types::IdMaker::default().next(u64::MAX / 2, 7);
        let name = home.pen_name(&id).unwrap();
        assert_eq!(name.session.as_str(), id.as_str());
    }
}

//! The start of a yard: its locks, its socket, and its own resource limits.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

use super::YARD_LOCK;
use crate::client::{self, YARD_SOCKET};

/// Raises the soft limits, which come from the client that started the yard. They do not apply to
/// other clients: each agent gets the limits of its own client.
pub(super) fn raise_limits() {
    let all = [
        Resource::Nofile, // the daemon has two descriptors for each session
        Resource::Cpu,
        Resource::Fsize,
        Resource::As,
        Resource::Data,
        Resource::Rss,
        Resource::Nproc,
        Resource::Memlock,
        Resource::Msgqueue,
        Resource::Sigpending,
        Resource::Locks,
    ];
    for resource in all {
        let maximum = rustix::process::getrlimit(resource).maximum;
        // Not required: a limit that can't be raised stays.
        rustix::process::setrlimit(resource, Rlimit { current: maximum, maximum }).ok();
    }
}

/// Locks the lock file and the home itself. Returns `None` if another process has a lock.
pub(super) fn take_locks(home: &Path) -> io::Result<Option<(OwnedFd, OwnedFd)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(home, flags, Mode::empty())?;
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(home.join(YARD_LOCK))?;
    for fd in [folder.as_fd(), file.as_fd()] {
        match rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(Some((file.into(), folder)))
}

/// Listens in the home. With the lock held, an existing socket file is that of a dead yard.
pub(super) fn listen(home: &Path) -> io::Result<OwnedFd> {
    crate::if_exists(std::fs::remove_file(home.join(YARD_SOCKET)))?;
    client::listen(home, YARD_SOCKET)
}

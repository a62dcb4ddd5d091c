//! What a yard begins with: the home, a socket in it, and limits of its own.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit};

use super::YARD_LOCK;
use crate::client::{BACKLOG, YARD_SOCKET, address, open_folder};

/// The soft limits are those of whichever client came first: they are none of the others'. Agents get their own
/// client's. Where one can't be raised we go on with what there is.
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
        rustix::process::setrlimit(resource, Rlimit { current: maximum, maximum }).ok();
    }
}

/// Takes the yard's locks; `None` if another has one.
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

/// Listens in the home. A socket file that is there is a dead yard's: we have the lock.
pub(super) fn listen(home: &Path) -> io::Result<OwnedFd> {
    let folder = open_folder(home)?;
    match std::fs::remove_file(home.join(YARD_SOCKET)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::bind(&socket, &address(&folder, YARD_SOCKET)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

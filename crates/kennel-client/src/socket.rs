//! Connects to sockets in a folder with a path of any length, although the kernel allows only 107 bytes.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Returns a short path to a file in the folder, valid as long as the descriptor is open.
fn short_path(folder: &Path, name: &str) -> io::Result<(OwnedFd, PathBuf)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/{name}", folder.as_raw_fd());
    Ok((folder, path.into()))
}

/// Connects to a stream socket.
///
/// # Errors
/// The socket can't be reached.
pub fn stream(folder: &Path, name: &str) -> io::Result<UnixStream> {
    let (_open, path) = short_path(folder, name)?;
    UnixStream::connect(path)
}

/// Connects to a message socket, without blocking.
///
/// # Errors
/// The socket can't be reached.
pub fn messages(folder: &Path, name: &str) -> io::Result<OwnedFd> {
    let (_open, path) = short_path(folder, name)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

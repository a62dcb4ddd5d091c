//! What the daemon needs from the operating system: clocks, files, `/proc`, descriptors.

pub(crate) mod async_fd;
pub(crate) mod blocking;
pub mod clock;
pub(crate) mod headroom;
pub(crate) mod home;
pub(crate) mod peer;
pub(crate) mod proc;

use std::io;
use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use tokio::task::AbortHandle;

/// Returns a path that fits in the address of a socket, however long the path of its folder is. It
/// is valid while the descriptor is open.
pub(crate) fn short_path(folder: &Path, name: impl AsRef<Path>) -> io::Result<(OwnedFd, PathBuf)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok((folder, path))
}

/// Returns none if the file does not exist.
pub(crate) fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Does blocking work on a thread of its own.
pub(crate) async fn unblocked<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[derive(Debug)]
pub(crate) struct AbortOnDrop(AbortHandle);

impl AbortOnDrop {
    pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task).abort_handle())
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

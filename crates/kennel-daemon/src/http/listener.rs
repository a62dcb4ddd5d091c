//! The socket of the API: whoever isn't the owner is not heard.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fd::AsRawFd;
use rustix::fs::{Mode, OFlags};
use tokio::net::unix::SocketAddr;
use tokio::net::{UnixListener, UnixStream};

use super::patient::Patient;
use crate::os::home::API_SOCKET;

/// The pause after no connection could be taken.
const PAUSE: Duration = Duration::from_millis(100);

/// A listener that only takes connections of our own user.
#[derive(Debug)]
pub(crate) struct OwnerOnly {
    listener: UnixListener,
    /// How long one who does not read is waited for; none: for ever.
    patience: Option<Duration>,
}

impl OwnerOnly {
    /// Listens in the home, in place of a predecessor: call it with the daemon's lock held.
    pub(crate) fn bind(home: &Path, patience: Option<Duration>) -> io::Result<Self> {
        let path = home.join(API_SOCKET);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Through a descriptor of the folder, however long its path is.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(home, flags, Mode::empty())?;
        let listener =
            UnixListener::bind(format!("/proc/self/fd/{}/{API_SOCKET}", folder.as_raw_fd()))?;
        rustix::fs::chmod(&path, Mode::RUSR | Mode::WUSR)?;
        Ok(Self { listener, patience })
    }
}

fn is_owner(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}

impl axum::serve::Listener for OwnerOnly {
    type Io = Patient<UnixStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Patient<UnixStream>, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => match is_owner(&stream) {
                    Ok(true) => return (Patient::new(stream, self.patience), address),
                    Ok(false) => tracing::warn!("another user was turned away"),
                    Err(error) => tracing::warn!(%error, "nobody knows who connects"),
                },
                Err(error) => {
                    tracing::warn!(%error, "no connection can be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn the_socket_is_the_owners_alone_and_replaces_a_stale_one() {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let listener = OwnerOnly::bind(home.path(), None).unwrap();
            let mode = std::fs::metadata(home.path().join(API_SOCKET)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
            drop(listener); // its file stays
        }
    }

    #[tokio::test]
    async fn a_home_with_a_long_path_is_no_problem() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("x".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        OwnerOnly::bind(&deep, None).unwrap();
    }
}

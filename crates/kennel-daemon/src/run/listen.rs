//! The sockets in the home, where clients find the daemon.
//!
//! A daemon with a deleted socket would live but be out of reach: no client could find it, and none
//! could start another daemon beside it. So a deleted socket is created again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::Mode;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::server::ApiServer;
use crate::launch::stdin_handoff::StdinHandoff;
use crate::os::home::{API_SOCKET, STDIN_SOCKET};
use crate::os::{AbortOnDrop, async_fd, if_exists, short_path};
use crate::run::config::DaemonError;

/// The pause before another attempt to create a socket.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Removes both sockets. To be called with the daemon's lock held.
pub(crate) fn remove(folder: &Path) {
    for name in [API_SOCKET, STDIN_SOCKET] {
        if let Err(error) = if_exists(std::fs::remove_file(folder.join(name))) {
            tracing::warn!(%error, name, "can't remove a socket");
        }
    }
}

pub(crate) struct Sockets {
    folder: PathBuf,
    server: Box<dyn ApiServer>,
    /// The server at the API's socket, and others that still answer requests over a former socket.
    servers: JoinSet<()>,
    /// Makes the current server accept no new connections.
    retire: watch::Sender<bool>,
    stdin: StdinHandoff,
    stdin_task: AbortOnDrop,
    shutdown: watch::Receiver<bool>,
    deletions: Option<AsyncFd<OwnedFd>>,
}

impl Sockets {
    pub(crate) fn listen(
        folder: &Path,
        server: Box<dyn ApiServer>,
        stdin: StdinHandoff,
        shutdown: watch::Receiver<bool>,
    ) -> Result<Self, DaemonError> {
        // Before the sockets are created, so that no deletion goes unnoticed.
        let deletions = watch_deletions(folder);
        let mut servers = JoinSet::new();
        servers.spawn(server.serve_tcp());
        let mut sockets = Self {
            folder: folder.to_owned(),
            server,
            servers,
            retire: watch::Sender::new(false),
            stdin_task: listen_for_stdin(folder, &stdin)?,
            stdin,
            shutdown,
            deletions,
        };
        sockets.listen_for_requests()?;
        Ok(sockets)
    }

    /// Serves until the daemon shuts down and every request is answered.
    pub(crate) async fn serve(&mut self) {
        let mut shutdown = self.shutdown.clone();
        let mut complete = true;
        loop {
            tokio::select! {
                // A dropped sender also means a shutdown.
                _ = shutdown.wait_for(|shutdown| *shutdown) => break,
                () = next_deletion(&mut self.deletions) => {}
                () = tokio::time::sleep(RETRY_PAUSE), if !complete => {}
            }
            let created = self.recreate_missing();
            complete = created.is_ok();
            if let Err(error) = created {
                tracing::error!(%error, "clients can't reach the daemon for now");
            }
        }
        while self.servers.join_next().await.is_some() {}
        // Upgraded connections are no longer with the servers.
        self.server.all_detached().await;
    }

    pub(crate) fn into_server(self) -> Box<dyn ApiServer> {
        self.server
    }

    fn recreate_missing(&mut self) -> Result<(), DaemonError> {
        if is_missing(&self.folder.join(API_SOCKET)) {
            tracing::warn!("the API's socket was deleted; creating it again");
            self.retire.send_replace(true);
            self.retire = watch::Sender::new(false);
            self.listen_for_requests()?;
        }
        if is_missing(&self.folder.join(STDIN_SOCKET)) {
            tracing::warn!("the socket for standard input was deleted; creating it again");
            self.stdin_task = listen_for_stdin(&self.folder, &self.stdin)?;
        }
        Ok(())
    }

    fn listen_for_requests(&mut self) -> Result<(), DaemonError> {
        let listener = bind_api_socket(&self.folder).map_err(failed(&self.folder, API_SOCKET))?;
        let (mut shutdown, mut retired) = (self.shutdown.clone(), self.retire.subscribe());
        let stop = async move {
            tokio::select! {
                _ = shutdown.wait_for(|shutdown| *shutdown) => {}
                _ = retired.wait_for(|retired| *retired) => {}
            }
        };
        self.servers.spawn(self.server.serve_socket(listener, Box::pin(stop)));
        Ok(())
    }
}

/// Listens in the home, in place of a predecessor: call it with the daemon's lock held.
fn bind_api_socket(home: &Path) -> io::Result<UnixListener> {
    let path = home.join(API_SOCKET);
    if_exists(std::fs::remove_file(&path))?;
    let (_folder, short) = short_path(home, API_SOCKET)?;
    let listener = UnixListener::bind(short)?;
    rustix::fs::chmod(&path, Mode::RUSR | Mode::WUSR)?;
    Ok(listener)
}

fn listen_for_stdin(folder: &Path, stdin: &StdinHandoff) -> Result<AbortOnDrop, DaemonError> {
    let socket = StdinHandoff::listen(folder).map_err(failed(folder, STDIN_SOCKET))?;
    Ok(AbortOnDrop::spawn(stdin.clone().serve(socket)))
}

fn failed(folder: &Path, name: &str) -> impl FnOnce(io::Error) -> DaemonError {
    let path = folder.join(name);
    move |source| DaemonError::Listen { path, source }
}

/// A path that can't be examined counts as present, so that it is not replaced.
fn is_missing(socket: &Path) -> bool {
    matches!(if_exists(std::fs::symlink_metadata(socket)), Ok(None))
}

/// Watches for deletions in a folder. Returns none, which is logged, if the machine has no inotify
/// watch left.
fn watch_deletions(folder: &Path) -> Option<AsyncFd<OwnedFd>> {
    let watch = || {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::ONLYDIR;
        inotify::add_watch(&descriptor, folder, flags)?;
        async_fd::watch_readable(descriptor)
    };
    let unwatched =
        |error: &io::Error| tracing::warn!(%error, "deleted sockets will not be recreated");
    watch().inspect_err(unwatched).ok()
}

/// Completes when something was deleted; never without a watch.
async fn next_deletion(deletions: &mut Option<AsyncFd<OwnedFd>>) {
    if let Some(watch) = deletions {
        match drain(watch).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "deleted sockets will not be recreated"),
        }
        *deletions = None;
    }
    std::future::pending().await
}

/// Waits for events and drops them: the caller checks which socket is missing.
async fn drain(watch: &AsyncFd<OwnedFd>) -> io::Result<()> {
    let mut ready = watch.readable().await?;
    let mut events = [0; 4096];
    loop {
        match rustix::io::read(watch.get_ref(), &mut events) {
            Ok(1..) | Err(Errno::INTR) => {}
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::AGAIN) => {
                ready.clear_ready();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn replaces_a_stale_socket_with_one_for_the_owner_only() {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let listener = bind_api_socket(home.path()).unwrap();
            let mode = std::fs::metadata(home.path().join(API_SOCKET)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
            drop(listener); // its file stays
        }
    }

    #[tokio::test]
    async fn listens_in_a_home_with_a_long_path() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("x".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        bind_api_socket(&deep).unwrap();
    }
}

//! The sockets in the home, where clients find us.
//!
//! Whoever deletes one of them would leave us alive and out of reach: no client could find us, and none could start
//! another daemon beside us. So a socket that is gone is made again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::http::{Api, OwnerOnly, Peer, Shared};
use crate::launch::stdin_handoff::StdinHandoff;
use crate::os::async_fd;
use crate::os::home::{API_SOCKET, STDIN_SOCKET};
use crate::run::config::DaemonError;

/// The pause after a socket could not be made again.
const PAUSE: Duration = Duration::from_secs(1);

/// Listens at both sockets, until told to leave.
///
/// # Errors
/// One can't be made.
pub(crate) fn listen(folder: &Path, shared: Shared) -> Result<JoinHandle<()>, DaemonError> {
    let leaving = shared.leaving.clone();
    let deposit = shared.deposit.clone();
    // Before they are made, so that none goes unnoticed.
    let vanishing = Vanishing::watch(folder);
    let api = Api::new(shared);
    let mut servers = JoinSet::new();
    servers.spawn(api.clone().serve_tcp());
    let sockets = Sockets {
        folder: folder.to_owned(),
        deposit_task: take_deposits(folder, &deposit)?,
        deposit,
        api,
        servers,
        retire: watch::Sender::new(false),
        leaving,
    };
    Ok(tokio::spawn(sockets.begin()?.serve(vanishing)))
}

/// Nobody listens there any more. To be called with the daemon's lock held: they are ours.
pub(crate) fn remove(folder: &Path) {
    for name in [API_SOCKET, STDIN_SOCKET] {
        match std::fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, name, "a socket could not be removed");
            }
            _ => {}
        }
    }
}

struct Sockets {
    folder: PathBuf,
    api: Api,
    /// Those at the API's socket: one, and maybe some who still answer what came to a former socket.
    servers: JoinSet<()>,
    /// Tells the present one to take nothing new.
    retire: watch::Sender<bool>,
    deposit: StdinHandoff,
    deposit_task: AbortHandle,
    leaving: watch::Receiver<bool>,
}

impl Sockets {
    /// Listens for requests.
    fn begin(mut self) -> Result<Self, DaemonError> {
        self.listen_for_requests()?;
        Ok(self)
    }

    async fn serve(mut self, mut vanishing: Option<Vanishing>) {
        let mut leaving = self.leaving.clone();
        let mut whole = true;
        loop {
            tokio::select! {
                // A sender that is gone means the same.
                _ = leaving.wait_for(|leaving| *leaving) => break,
                () = vanished(&mut vanishing) => {}
                () = tokio::time::sleep(PAUSE), if !whole => {}
            }
            let made = self.make_again();
            whole = made.is_ok();
            if let Err(error) = made {
                tracing::error!(%error, "nobody can reach us for now");
            }
        }
        while self.servers.join_next().await.is_some() {}
        // These are no longer with those who serve.
        self.api.all_detached().await;
    }

    fn make_again(&mut self) -> Result<(), DaemonError> {
        if is_missing(&self.folder.join(API_SOCKET)) {
            tracing::warn!("the socket was deleted, and is made again");
            self.retire.send_replace(true);
            self.retire = watch::Sender::new(false);
            self.listen_for_requests()?;
        }
        if is_missing(&self.folder.join(STDIN_SOCKET)) {
            tracing::warn!("the socket for deposits was deleted, and is made again");
            self.deposit_task.abort();
            self.deposit_task = take_deposits(&self.folder, &self.deposit)?;
        }
        Ok(())
    }

    fn listen_for_requests(&mut self) -> Result<(), DaemonError> {
        let listener = OwnerOnly::bind(&self.folder, self.api.patience())
            .map_err(failed(&self.folder, API_SOCKET))?;
        let routes = self.api.clone().socket_routes().into_make_service_with_connect_info::<Peer>();
        let (mut leaving, mut retired) = (self.leaving.clone(), self.retire.subscribe());
        let serving = axum::serve(listener, routes).with_graceful_shutdown(async move {
            tokio::select! {
                _ = leaving.wait_for(|leaving| *leaving) => {}
                _ = retired.wait_for(|retired| *retired) => {}
            }
        });
        self.servers.spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!(%error, "the API has failed");
            }
        });
        Ok(())
    }
}

fn take_deposits(folder: &Path, deposit: &StdinHandoff) -> Result<AbortHandle, DaemonError> {
    let socket = StdinHandoff::listen(folder).map_err(failed(folder, STDIN_SOCKET))?;
    Ok(tokio::spawn(deposit.clone().serve(socket)).abort_handle())
}

fn failed(folder: &Path, name: &str) -> impl FnOnce(io::Error) -> DaemonError {
    let path = folder.join(name);
    move |source| DaemonError::Listen { path, source }
}

/// What can't be looked at counts as there: it is not ours to replace.
fn is_missing(socket: &Path) -> bool {
    let look = std::fs::symlink_metadata(socket);
    look.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Tells when something was deleted in a folder.
struct Vanishing(AsyncFd<OwnedFd>);

impl Vanishing {
    /// None, said in the log, if the machine has no watch left: then we live without.
    fn watch(folder: &Path) -> Option<Self> {
        let watch = || -> io::Result<Self> {
            let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let flags = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::ONLYDIR;
            inotify::add_watch(&descriptor, folder, flags)?;
            Ok(Self(async_fd::watch_readable(descriptor)?))
        };
        watch()
            .inspect_err(|error| tracing::warn!(%error, "a socket that is deleted stays so"))
            .ok()
    }

    /// Comes when something was.
    async fn next(&mut self) -> io::Result<()> {
        let mut ready = self.0.readable().await?;
        // What it was does not matter: it is looked for what is missing.
        let mut events = [0; 4096];
        loop {
            match rustix::io::read(self.0.get_ref(), &mut events) {
                Ok(1..) | Err(rustix::io::Errno::INTR) => {}
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(rustix::io::Errno::AGAIN) => {
                    ready.clear_ready();
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Comes when something was deleted; never without a watch.
async fn vanished(vanishing: &mut Option<Vanishing>) {
    if let Some(watch) = vanishing {
        match watch.next().await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "a socket that is deleted stays so"),
        }
        *vanishing = None;
    }
    std::future::pending().await
}

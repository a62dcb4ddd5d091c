//! The one way into the daemon for its servers: typed requests to the owner, and streams of what
//! happens.
//!
//! ```text
//! kennel-http ──> DaemonHandle ──calls─────> owner
//!                      ├── reads ──────────> register, journals
//!                      └── asks ───────────> keepers
//! ```
//! Nothing here knows HTTP. Every method returns [`ApiError`] with a text for people and a code for
//! programs.

mod adopt;
mod input;
mod launch_watch;
mod members;
mod plans;
mod readiness;
mod report;
mod sessions;
mod strays;
mod terminal_input;
mod usage;
mod worktrees;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kennel_register::{EventPage, EventQuery, ReadError, Register};
use kennel_types::api::{DaemonView, ShutdownLine, ShutdownRequest};
use kennel_types::{EventView, SessionView};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_blocking;

use crate::error::{Answer, ApiError};
use crate::launch::stdin_handoff::StdinHandoff;
use crate::metrics::{self, DaemonMetrics};
use crate::os::home::{API_SOCKET, DaemonHome, JOURNAL};
use crate::owner::bus::{Bus, Disconnect};
use crate::owner::{ExitReason, Owner};

pub use launch_watch::{LaunchEnd, LaunchWatch, exact_reference, has_ended};
pub use sessions::CancelOnDrop;
pub use terminal_input::{InputEvent, TerminalInput};

pub(crate) use launch_watch::LaunchWatches;

/// How long a read of the event log waits for events that are not written yet.
const EVENT_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Variables of the daemon's environment that are reported: they locate things, and none is secret.
const REPORTED_VARS: [&str; 7] = ["HOME", "PATH", "LANG", "USER", "LOGNAME", "TZ", "TMPDIR"];

/// A connection to a running daemon. Clones share it.
///
/// A method fails if its request is invalid or refused, if what it refers to is unknown, or if the
/// daemon shuts down.
#[derive(Debug, Clone)]
pub struct DaemonHandle(Arc<HandleParts>);

#[derive(Debug)]
pub(crate) struct HandleParts {
    pub(crate) bus: Bus,
    pub(crate) register: Register,
    pub(crate) stdin: StdinHandoff,
    pub(crate) home: DaemonHome,
    pub(crate) metrics: Arc<DaemonMetrics>,
    pub(crate) launches: LaunchWatches,
    pub(crate) shutdown: watch::Receiver<bool>,
}

impl DaemonHandle {
    pub(crate) fn new(parts: HandleParts) -> Self {
        Self(Arc::new(parts))
    }

    /// A handle without an owner, over a register of its own in `folder`: for tests of servers.
    ///
    /// # Panics
    /// If the register can't be opened.
    #[doc(hidden)]
    #[must_use]
    #[expect(clippy::expect_used, reason = "only tests call it")]
    pub fn detached(folder: &Path, shutdown: watch::Receiver<bool>) -> (Self, Register) {
        let id = kennel_pen::HomeId::random().expect("a home id");
        let opened = Register::open(&folder.join("register.db"), id.as_str());
        let register = opened.expect("a register").register;
        let (bus, _closed) = Bus::new();
        let handle = Self::new(HandleParts {
            bus,
            register: register.clone(),
            stdin: StdinHandoff::default(),
            home: DaemonHome { folder: folder.to_owned(), id },
            metrics: Arc::default(),
            launches: LaunchWatches::default(),
            shutdown,
        });
        (handle, register)
    }

    /// Starts something in the owner's task, and waits for the answer.
    async fn request<T: Send + 'static>(
        &self,
        begin: impl FnOnce(&mut Owner, Answer<T>) + Send + 'static,
    ) -> Result<T, ApiError> {
        let (answer, answered) = oneshot::channel();
        // If the owner has exited, this drops the answer.
        self.0.bus.call(move |owner| begin(owner, answer));
        answered.await.unwrap_or_else(|_| Err(ApiError::gone()))
    }

    /// Like [`DaemonHandle::request`]. With `cancel_on_disconnect`, the owner notices when this
    /// future is dropped.
    async fn request_with_disconnect<T: Send + 'static>(
        &self,
        cancel_on_disconnect: bool,
        begin: impl FnOnce(&mut Owner, Option<Disconnect>, Answer<T>) + Send + 'static,
    ) -> Result<T, ApiError> {
        let (connected, disconnect) = oneshot::channel();
        let disconnect = cancel_on_disconnect.then_some(disconnect);
        let answer = self.request(|owner, answer| begin(owner, disconnect, answer)).await;
        // Without `cancel_on_disconnect` there is no receiver.
        connected.send(()).ok();
        answer
    }

    /// Runs a function in the owner's task, and returns its result.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Owner) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.request(|owner, answer| drop(answer.send(question(owner)))).await
    }

    #[must_use]
    pub fn home(&self) -> &Path {
        &self.0.home.folder
    }

    #[must_use]
    pub fn api_socket(&self) -> PathBuf {
        self.home().join(API_SOCKET)
    }

    /// Becomes true when the daemon shuts down; a closed channel means the same.
    #[must_use]
    pub fn shutdown_signal(&self) -> watch::Receiver<bool> {
        self.0.shutdown.clone()
    }

    pub async fn shutting_down(&self) {
        // A dropped sender also means a shutdown.
        drop(self.shutdown_signal().wait_for(|shutdown| *shutdown).await);
    }

    /// Describes the daemon. The server adds its TCP listener.
    pub async fn describe(&self) -> Result<DaemonView, ApiError> {
        let view = self.ask(|owner| Ok(owner.daemon_view())).await?;
        Ok(DaemonView { environment: reported_environment(std::env::vars_os()), ..view })
    }

    /// Shuts the daemon down, and its sessions too unless the request keeps them. The channel
    /// reports progress; dropping it changes nothing.
    pub fn shut_down(
        &self,
        request: &ShutdownRequest,
    ) -> Result<mpsc::UnboundedReceiver<ShutdownLine>, ApiError> {
        let (lines, progress) = mpsc::unbounded_channel();
        let (keep, grace) = (request.keep, request.grace_ms.map(Duration::from_millis));
        let accepted = self.0.bus.call(move |owner| match keep {
            true => owner.begin_drain(ExitReason::Kept, None, Some(lines)),
            false => owner.begin_stop(grace, Some(lines)),
        });
        accepted.then_some(progress).ok_or_else(ApiError::gone)
    }

    /// Makes the yard replace the daemon with the program at this absolute path, or with the same
    /// program if the path is empty.
    pub async fn replace(&self, program: String) -> Result<(), ApiError> {
        if !program.is_empty() && !program.starts_with('/') {
            return Err(ApiError::invalid(format!("program {program:?} is not an absolute path")));
        }
        self.request(|owner, answer| {
            // Before the drain, which may end the owner.
            answer.send(Ok(())).ok();
            owner.begin_drain(ExitReason::Replaced, Some(program), None);
        })
        .await
    }

    /// The number of the newest event; changes with each new one.
    #[must_use]
    pub fn latest_event(&self) -> watch::Receiver<u64> {
        self.0.register.latest_seq()
    }

    /// Waits until all that happened so far is in the event log, but not for long: a full disk must
    /// not block readers.
    pub async fn flush_events(&self) {
        drop(tokio::time::timeout(EVENT_FLUSH_TIMEOUT, self.0.register.catch_up()).await);
    }

    pub async fn events(&self, query: EventQuery) -> Result<Vec<EventView>, ReadError> {
        self.read_register(move |register| register.events(query)).await
    }

    /// Reads events, with the number of the oldest one that is kept.
    pub async fn event_page(&self, query: EventQuery) -> Result<EventPage, ReadError> {
        self.read_register(move |register| register.event_page(&query)).await
    }

    async fn read_register<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Register) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        let register = self.0.register.clone();
        match spawn_blocking(move || read(&register)).await {
            Ok(read) => read,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    pub async fn metrics(&self) -> Result<String, ApiError> {
        let gauges = self.ask(|owner| Ok(owner.gauges())).await?;
        metrics::page(&self.0.metrics, &gauges, &self.0.register).map_err(ApiError::internal)
    }
}

#[must_use]
pub fn journal_folder(launch: &SessionView) -> PathBuf {
    Path::new(&launch.folder).join(JOURNAL)
}

fn reported_environment(
    own: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
) -> BTreeMap<String, String> {
    own.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| {
            REPORTED_VARS.contains(&&**name) || name.starts_with("LC_") || name.starts_with("XDG_")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_only_variables_that_locate_things() {
        let own = [("HOME", "/h"), ("KENNEL_HOME", "/k"), ("API_KEY", "secret"), ("LC_ALL", "C")];
        let own = own.map(|(name, value)| (name.into(), value.into()));
        let expected = [("HOME", "/h"), ("LC_ALL", "C")].map(|(n, v)| (n.into(), v.into()));
        assert_eq!(reported_environment(own.into_iter()), expected.into());
    }
}

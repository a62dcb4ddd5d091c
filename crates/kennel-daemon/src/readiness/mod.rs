//! Readiness: watches for the condition that was requested, and for the timeout.
//!
//! ```text
//! AwaitReady ──> watch ──┬── the condition holds ───> BecameReady
//!                        └── the timeout is over ────> ReadyOverdue
//! StopAwaiting, or its end: the task is aborted, at whatever step it is
//! ```
//! A watch has no state of its own: a new daemon starts another one, with the rest of the time.

mod attempt;
mod check;
mod http;
mod lines;
mod observed;
mod output;
mod strip;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kennel_core::Event;
use kennel_keeper::fault::point;
use kennel_types::{Readiness, SessionId};
use kennel_worktree::WorktreeRecord;
use tokio::task::{AbortHandle, spawn_blocking};

use crate::event_sender::{EventSender, SessionEvent};

pub(crate) use check::check;
use observed::Observed;

/// The input of a watch.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) session: SessionId,
    pub(crate) readiness: Readiness,
    /// How long it may take from the opening of the gate.
    pub(crate) timeout: Option<Duration>,
    /// When the gate was opened, by a clock that stops while the machine sleeps.
    pub(crate) opened: Instant,
    /// The base of relative paths, unless it has a worktree.
    pub(crate) cwd: PathBuf,
    /// Its worktree.
    pub(crate) worktree: Option<WorktreeRecord>,
    /// The folder with the session's journal.
    pub(crate) folder: PathBuf,
    pub(crate) owner: EventSender<SessionEvent>,
}

/// A running watch; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Watching(AbortHandle);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watch {
    /// Starts the watch.
    pub(crate) fn begin(self) -> Watching {
        point("daemon.ready.begun");
        Watching(tokio::spawn(self.run()).abort_handle())
    }

    async fn run(self) {
        let observed = Observed::default();
        let event = tokio::select! {
            // What is there at the timeout counts.
            biased;
            how = self.sign(&observed) => {
                point("daemon.ready.seen");
                Event::BecameReady { how }
            }
            () = self.time_is_over() => {
                point("daemon.ready.overdue");
                Event::ReadyOverdue { saw: observed.last() }
            }
        };
        self.owner.send(SessionEvent { session: self.session, event }).ok();
    }

    async fn time_is_over(&self) {
        match self.timeout.and_then(|timeout| self.opened.checked_add(timeout)) {
            Some(until) => tokio::time::sleep_until(until.into()).await,
            None => std::future::pending().await,
        }
    }

    /// The folder that the agent was started in.
    async fn agents_folder(&self) -> PathBuf {
        let Some(record) = self.worktree.clone() else { return self.cwd.clone() };
        let top = record.path.clone();
        spawn_blocking(move || record.cwd()).await.unwrap_or(top)
    }

    /// Waits for the condition and returns what was seen. What was seen instead is noted.
    async fn sign(&self, observed: &Observed) -> String {
        match &self.readiness {
            Readiness::None => std::future::pending().await,
            // The agent's report arrives by the API.
            Readiness::Report => {
                observed.note("no report arrived");
                std::future::pending().await
            }
            Readiness::Line { pattern } => output::matched(&self.folder, pattern, observed).await,
            Readiness::Socket { path } => {
                let path = self.agents_folder().await.join(path);
                attempt::until(observed, || attempt::socket(&path)).await;
                format!("{} accepts connections", path.display())
            }
            Readiness::Tcp { host, port } => {
                attempt::until(observed, || attempt::tcp(host, *port)).await;
                format!("{host} port {port} accepts connections")
            }
            Readiness::Http { url } => {
                attempt::until(observed, || http::answers(url)).await;
                format!("{url} answers")
            }
        }
    }
}

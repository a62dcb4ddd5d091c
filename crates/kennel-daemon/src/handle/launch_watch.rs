//! Wakes the followers of a launch when there is more to read.
//!
//! One task for each launch, however many clients follow it, and only while at least one does. The
//! keeper reports when the journal grows, the register when the session changes, so that followers
//! never poll the disk.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kennel_keeper::protocol::{KeeperReport, KeeperRequest, PeerRole};
use kennel_types::{Phase, SessionView};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::DaemonHandle;
use crate::keeper::request::{KeeperConnection, KeeperRequestError};

/// How long a keeper may take to send its greeting.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a session without a keeper is read even if nothing changes: on a full disk no event
/// can be recorded.
const RECHECK: Duration = Duration::from_secs(1);

/// What followers of a launch know of it.
#[derive(Debug, Clone, Default)]
pub struct LaunchWatch {
    /// Set when nothing more will be printed.
    pub end: Option<LaunchEnd>,
}

#[derive(Debug, Clone)]
pub enum LaunchEnd {
    Ended(Arc<SessionView>),
    Removed,
}

type Watches = HashMap<String, watch::Sender<LaunchWatch>>;

#[derive(Debug, Clone, Default)]
pub(crate) struct LaunchWatches(Arc<Mutex<Watches>>);

impl DaemonHandle {
    /// Follows the launch with this id. The value changes when there may be more to read, or when
    /// there will be no more; the channel closes when the daemon shuts down.
    #[must_use]
    pub fn watch_launch(&self, launch: &str) -> watch::Receiver<LaunchWatch> {
        let launch = exact_reference(launch);
        let watches = &self.0.launches;
        let mut followed = watches.lock();
        if let Some(watch) = followed.get(&launch) {
            return watch.subscribe();
        }
        let (watch, receiver) = watch::channel(LaunchWatch::default());
        followed.insert(launch.clone(), watch.clone());
        tokio::spawn(watches.clone().run(self.clone(), launch, watch));
        receiver
    }
}

impl LaunchWatches {
    async fn run(self, daemon: DaemonHandle, launch: String, watch: watch::Sender<LaunchWatch>) {
        tokio::select! {
            end = follow(&daemon, &launch, &watch) => {
                self.lock().remove(&launch);
                watch.send_modify(|watch| watch.end = Some(end));
            }
            () = self.unfollowed(&launch, &watch) => {}
            () = daemon.shutting_down() => drop(self.lock().remove(&launch)),
        }
    }

    /// Completes when the last follower has gone; by then the entry is removed.
    async fn unfollowed(&self, launch: &str, watch: &watch::Sender<LaunchWatch>) {
        loop {
            watch.closed().await;
            let mut followed = self.lock();
            if watch.receiver_count() == 0 {
                followed.remove(launch);
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Watches> {
        // No panic can leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reference that means this launch. The id of a session's first launch is the session's own,
/// which means its latest.
#[must_use]
pub fn exact_reference(launch: &str) -> String {
    if launch.contains('_') { launch.to_owned() } else { format!("{launch}_1") }
}

#[must_use]
pub fn has_ended(phase: Phase) -> bool {
    matches!(phase, Phase::Reaped | Phase::Cleaned)
}

/// Wakes the followers until the launch has ended.
async fn follow(
    daemon: &DaemonHandle,
    launch: &str,
    watch: &watch::Sender<LaunchWatch>,
) -> LaunchEnd {
    let mut latest = daemon.latest_event();
    let mut is_complete = false;
    loop {
        // Before the session is read, so that no later change is missed.
        latest.borrow_and_update();
        match daemon.show(launch.to_owned()).await {
            Ok(view) if has_ended(view.phase) => return LaunchEnd::Ended(Arc::new(view)),
            Ok(view) => {
                if view.phase >= Phase::Launching && !is_complete {
                    is_complete = follow_keeper(&view, watch).await;
                }
            }
            Err(error) if error.status() == 404 => return LaunchEnd::Removed,
            // The daemon is shutting down, which ends this task.
            Err(_) => {}
        }
        tokio::select! {
            changed = latest.changed() => {
                if changed.is_err() {
                    sleep(RECHECK).await;
                }
            }
            () = sleep(RECHECK) => {}
        }
        // A keeper that is gone may have written more than it reported.
        watch.send_modify(|_| ());
    }
}

/// Passes on the keeper's reports about its journal, for as long as it is connected. Returns
/// whether the journal of this launch is complete: afterwards the keeper may serve another launch.
async fn follow_keeper(view: &SessionView, watch: &watch::Sender<LaunchWatch>) -> bool {
    let followed = async {
        let keeper = KeeperConnection::connect(Path::new(&view.folder))?;
        match timeout(GREETING_TIMEOUT, keeper.greet(PeerRole::Client)).await {
            Ok(greeted) => drop(greeted?),
            Err(_) => return Ok(false),
        }
        keeper.send(&KeeperRequest::Follow).await?;
        keeper
            .wait_for(|report, _| {
                if let KeeperReport::Grown(_) = report {
                    watch.send_modify(|_| ());
                }
                matches!(report, KeeperReport::Gone(_)).then_some(true)
            })
            .await
    };
    followed.await.unwrap_or_else(|error| {
        use kennel_keeper::KeeperClientError::Closed;
        if !matches!(error, KeeperRequestError::NotListening | KeeperRequestError::Client(Closed)) {
            tracing::warn!(session = %view.id, %error, "can't follow a keeper");
        }
        false
    })
}

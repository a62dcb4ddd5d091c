//! What all those share who look on while something happens.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::feed::Feed;
use super::pulse::Pulses;

/// How many read output from the disk at once: others want to write and launch meanwhile.
const READERS: usize = 16;
/// How many may be in front of sessions at once.
const MOST_ATTACHED: u32 = 1024;

/// See the module.
#[derive(Debug)]
pub(crate) struct Live {
    /// Launches that are followed.
    pub(super) pulses: Pulses,
    /// The newest events.
    pub(super) feed: Feed,
    /// Who may read from the disk now.
    pub(super) disk: Arc<Semaphore>,
    attached: Arc<Semaphore>,
    /// How long one who does not read is waited for; none: for ever.
    pub(super) patience: Option<Duration>,
}

impl Live {
    /// One who does not read is waited for so long.
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            pulses: Pulses::default(),
            feed: Feed::default(),
            disk: Arc::new(Semaphore::new(READERS)),
            attached: Arc::new(Semaphore::new(MOST_ATTACHED as usize)),
            patience: Some(patience).filter(|patience| !patience.is_zero()),
        }
    }

    /// A place in front of a session, if there is one left; to be held as long as it is used.
    pub(super) fn attach(&self) -> Option<OwnedSemaphorePermit> {
        self.attached.clone().try_acquire_owned().ok()
    }

    /// Comes when nobody is attached any more. They are told that we leave by other means.
    pub(crate) async fn all_detached(&self) {
        // It is never closed, so there is nothing that could go wrong.
        drop(self.attached.acquire_many(MOST_ATTACHED).await);
    }
}

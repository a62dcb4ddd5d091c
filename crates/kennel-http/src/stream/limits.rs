//! The state that all streams share: the event ring, and limits on the number of streams.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use kennel_daemon::ApiError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::events::ring::EventRing;

/// The maximum number of streams that read from the disk at once: launches and the register need it, too.
const MAX_DISK_READERS: usize = 16;
const MAX_ATTACHED: u32 = 1024;

#[derive(Debug)]
pub(crate) struct StreamLimits {
    pub(crate) events: EventRing,
    disk: Arc<Semaphore>,
    attached: Arc<Semaphore>,
    /// How long a client may leave a response unread. `None`: forever.
    pub(crate) write_timeout: Option<Duration>,
}

impl StreamLimits {
    /// Creates the limits. A timeout of zero means none.
    pub(crate) fn new(write_timeout: Duration) -> Self {
        Self {
            events: EventRing::default(),
            disk: Arc::new(Semaphore::new(MAX_DISK_READERS)),
            attached: Arc::new(Semaphore::new(MAX_ATTACHED as usize)),
            write_timeout: Some(write_timeout).filter(|timeout| !timeout.is_zero()),
        }
    }

    /// Returns a permit, which an attached client holds until it detaches.
    pub(crate) fn try_attach(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let permit = self.attached.clone().try_acquire_owned();
        permit.map_err(|_| ApiError::busy("too many clients are attached"))
    }

    /// Waits until no client is attached any more.
    pub(crate) async fn all_detached(&self) {
        // The semaphore is never closed, so this can't fail.
        drop(self.attached.acquire_many(MAX_ATTACHED).await);
    }

    /// Runs a function that blocks on the disk, once there is a free slot.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let permit = self.disk.clone().acquire_owned().await.map_err(io::Error::other)?;
        spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        })
        .await
        .map_err(io::Error::other)?
    }
}

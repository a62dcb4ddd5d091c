//! The owner's queue: what clients, workers and timers request, as functions that run in the
//! owner's task, one after the other.

use std::fmt;
use std::time::Duration;

use kennel_core::Event;
use kennel_types::SessionId;
use tokio::sync::{mpsc, oneshot};

use super::Owner;
use crate::event_sender::EventSender;
use crate::os::AbortOnDrop;

/// Signals that a client has disconnected: its sender is dropped without a value. Then the client's
/// session or plan ends.
pub(crate) type Disconnect = oneshot::Receiver<()>;
/// A function that runs in the owner's task. It must not block.
pub(crate) type OwnerCall = Box<dyn FnOnce(&mut Owner) + Send>;

/// The sending end of the owner's queue. If the owner has exited, calls are dropped.
#[derive(Clone)]
pub(crate) struct Bus(mpsc::UnboundedSender<OwnerCall>);

impl Bus {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<OwnerCall>) {
        let (sender, calls) = mpsc::unbounded_channel();
        (Self(sender), calls)
    }

    /// Queues a call. Returns whether the owner still exists.
    pub(crate) fn call(&self, call: impl FnOnce(&mut Owner) + Send + 'static) -> bool {
        self.0.send(Box::new(call)).is_ok()
    }

    pub(super) fn apply(&self, id: &SessionId, event: Event) {
        let id = id.clone();
        self.call(move |owner| owner.apply(&id, &event));
    }

    pub(super) fn call_later(
        &self,
        pause: Duration,
        call: impl FnOnce(&mut Owner) + Send + 'static,
    ) {
        tokio::spawn(self.clone().wait_and_call(pause, call));
    }

    /// Like [`Bus::call_later`], unless the timer is dropped first.
    pub(super) fn timer(
        &self,
        pause: Duration,
        call: impl FnOnce(&mut Owner) + Send + 'static,
    ) -> AbortOnDrop {
        AbortOnDrop::spawn(self.clone().wait_and_call(pause, call))
    }

    async fn wait_and_call(self, pause: Duration, call: impl FnOnce(&mut Owner) + Send + 'static) {
        tokio::time::sleep(pause).await;
        self.call(call);
    }

    /// Returns a sender for a link or a worker that knows only its own events.
    pub(crate) fn sender<T: Send + 'static>(&self, take: fn(&mut Owner, T)) -> EventSender<T> {
        let bus = self.clone();
        EventSender::new(move |event| {
            bus.call(move |owner| take(owner, event));
        })
    }

    /// Calls `gone` for this session or plan if its client disconnects.
    pub(super) fn on_disconnect(
        &self,
        disconnect: Option<Disconnect>,
        id: &SessionId,
        gone: fn(&mut Owner, &SessionId),
    ) {
        let Some(disconnect) = disconnect else { return };
        let (bus, id) = (self.clone(), id.clone());
        tokio::spawn(async move {
            if disconnect.await.is_err() {
                bus.call(move |owner| gone(owner, &id));
            }
        });
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").finish_non_exhaustive()
    }
}

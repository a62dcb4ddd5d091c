//! Typed senders: how links and workers report to the owner without knowing its messages.

use std::fmt;
use std::sync::Arc;

use kennel_core::Event;
use kennel_types::SessionId;

/// Sends events of one type. The receiver decides what they become.
pub(crate) struct EventSender<T>(Arc<dyn Fn(T) -> bool + Send + Sync>);

/// The receiver no longer exists: the daemon is shutting down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReceiverGone;

impl<T> EventSender<T> {
    /// Wraps a function that delivers an event and returns whether the receiver still exists.
    pub(crate) fn new(deliver: impl Fn(T) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(deliver))
    }

    /// Sends an event; never blocks.
    pub(crate) fn send(&self, event: T) -> Result<(), ReceiverGone> {
        if (self.0)(event) { Ok(()) } else { Err(ReceiverGone) }
    }
}

impl<T> Clone for EventSender<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for EventSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSender").finish_non_exhaustive()
    }
}

/// Something happened to a session: the input of one step of the core.
#[derive(Debug)]
pub(crate) struct SessionEvent {
    pub(crate) session: SessionId,
    pub(crate) event: Event,
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn reports_when_the_receiver_is_gone() {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let events = EventSender::new(move |number: u32| sender.send(number.to_string()).is_ok());
        assert_eq!(events.clone().send(7), Ok(()));
        assert_eq!(receiver.try_recv().as_deref(), Ok("7"));
        drop(receiver);
        assert_eq!(events.send(8), Err(ReceiverGone));
    }
}

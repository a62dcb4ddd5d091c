//! Typed senders: how links and workers report to the owner without knowing it.

use std::fmt;
use std::sync::Arc;

/// Sends events of one type, and never blocks. Events are dropped if the receiver no longer exists.
pub(crate) struct EventSender<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> EventSender<T> {
    pub(crate) fn new(deliver: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(deliver))
    }

    pub(crate) fn send(&self, event: T) {
        (self.0)(event);
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

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn delivers_events_until_the_receiver_is_gone() {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let events = EventSender::new(move |number: u32| drop(sender.send(number.to_string())));
        events.clone().send(7);
        assert_eq!(receiver.try_recv().as_deref(), Ok("7"));
        drop(receiver);
        events.send(8);
    }
}

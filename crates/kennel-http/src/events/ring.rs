//! The newest events, read from the register once for all clients that follow them.
//!
//! ```text
//! register ──(one task, while a client follows)──> ring ──> client, client, …
//!     └──────────────────── clients that are further behind than the ring ───┘
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use kennel_daemon::DaemonHandle;
use kennel_register::EventQuery;
use kennel_types::EventView;
use tokio::sync::watch;
use tokio::time::sleep;

use super::PAGE;
use crate::stream::sse;

/// The number of events in the ring. Clients that are further behind read from the register.
const CAPACITY: usize = 1024;
/// The pause after the register could not be read.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct EncodedEvent {
    pub(super) seq: u64,
    pub(super) session: Option<String>,
    pub(super) kind: String,
    pub(super) frame: Bytes,
}

impl EncodedEvent {
    pub(super) fn new(event: EventView) -> Self {
        let mut frame = Vec::new();
        match serde_json::to_string(&event) {
            Ok(data) => sse::write(&mut frame, &event.seq.to_string(), &event.kind, &data),
            Err(error) => tracing::error!(%error, "can't encode an event as JSON"),
        }
        let EventView { seq, session, kind, .. } = event;
        Self { seq, session, kind, frame: frame.into() }
    }
}

/// The events after `after` up to `upto`.
#[derive(Debug, Default)]
struct RingState {
    events: VecDeque<Arc<EncodedEvent>>,
    after: u64,
    upto: u64,
    /// Set while a task reads new events: the number of the newest.
    newest: Option<watch::Sender<u64>>,
}

impl RingState {
    fn begin(&mut self, latest: u64) {
        self.events.clear();
        (self.after, self.upto) = (latest, latest);
    }

    fn add(&mut self, events: Vec<EventView>) {
        for event in events {
            self.upto = event.seq;
            self.events.push_back(Arc::new(EncodedEvent::new(event)));
        }
        while self.events.len() > CAPACITY {
            self.after = self.events.pop_front().map_or(self.after, |dropped| dropped.seq);
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct EventRing(Arc<Mutex<RingState>>);

#[derive(Debug)]
pub(super) enum RingRead {
    Events(u64, Vec<Arc<EncodedEvent>>),
    /// The events are no longer in the ring: read them from the register.
    TooFarBehind,
}

impl EventRing {
    /// Follows the log. The value changes with new events, and the channel closes when they can't be read any more.
    pub(super) fn follow(&self, daemon: &DaemonHandle) -> watch::Receiver<u64> {
        let mut ring = self.lock();
        if let Some(newest) = &ring.newest {
            return newest.subscribe();
        }
        let mut latest = daemon.latest_event();
        ring.begin(*latest.borrow_and_update());
        let (newest, receiver) = watch::channel(ring.upto);
        ring.newest = Some(newest.clone());
        tokio::spawn(self.clone().read_new(daemon.clone(), latest, newest));
        receiver
    }

    /// Returns at most `limit` events after this one.
    pub(super) fn after(&self, since: u64, limit: usize) -> RingRead {
        let ring = self.lock();
        if since < ring.after {
            return RingRead::TooFarBehind;
        }
        let from = ring.events.partition_point(|event| event.seq <= since);
        let events: Vec<_> = ring.events.iter().skip(from).take(limit).cloned().collect();
        let all = events.len() < limit;
        let upto = events.last().filter(|_| !all).map_or(ring.upto, |last| last.seq);
        RingRead::Events(upto.max(since), events)
    }

    async fn read_new(
        self,
        daemon: DaemonHandle,
        mut latest: watch::Receiver<u64>,
        newest: watch::Sender<u64>,
    ) {
        loop {
            tokio::select! {
                changed = latest.changed() => {
                    if changed.is_err() {
                        self.lock().newest = None;
                        return;
                    }
                    self.catch_up(&daemon, &newest).await;
                }
                () = newest.closed() => {
                    let mut ring = self.lock();
                    if newest.receiver_count() == 0 {
                        *ring = RingState::default();
                        return;
                    }
                }
            }
        }
    }

    async fn catch_up(&self, daemon: &DaemonHandle, newest: &watch::Sender<u64>) {
        loop {
            let query = EventQuery { since: self.lock().upto, session: None, limit: PAGE };
            match daemon.events(query).await {
                Ok(events) => {
                    let read = events.len();
                    let upto = {
                        let mut ring = self.lock();
                        ring.add(events);
                        ring.upto
                    };
                    newest.send_if_modified(|newest| std::mem::replace(newest, upto) != upto);
                    if read < PAGE {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "can't read events");
                    if newest.receiver_count() == 0 {
                        return;
                    }
                    sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, RingState> {
        // No panic can leave the state half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> EventView {
        EventView {
            seq,
            time: "t".into(),
            session: None,
            kind: "k".into(),
            cause: "c\n".into(),
            by: None,
        }
    }

    fn ring(after: u64, numbers: impl IntoIterator<Item = u64>) -> EventRing {
        let ring = EventRing::default();
        ring.lock().begin(after);
        ring.lock().add(numbers.into_iter().map(event).collect());
        ring
    }

    fn numbers(read: RingRead) -> (u64, Vec<u64>) {
        match read {
            RingRead::Events(upto, events) => {
                (upto, events.iter().map(|event| event.seq).collect())
            }
            RingRead::TooFarBehind => panic!("it is in the ring"),
        }
    }

    #[test]
    fn returns_the_events_after_a_number_that_is_recent_enough() {
        let ring = ring(10, [11, 12, 14]);
        assert_eq!(numbers(ring.after(10, 9)), (14, vec![11, 12, 14]));
        assert_eq!(numbers(ring.after(11, 1)), (12, vec![12]));
        assert_eq!(numbers(ring.after(12, 9)), (14, vec![14]));
        assert_eq!(numbers(ring.after(14, 9)), (14, vec![]));
        assert_eq!(numbers(ring.after(20, 9)), (20, vec![]), "no client is moved back");
        assert!(matches!(ring.after(9, 9), RingRead::TooFarBehind));
    }

    #[test]
    fn drops_the_oldest_events_beyond_its_capacity() {
        let ring = ring(0, 1..=CAPACITY as u64 + 5);
        assert!(matches!(ring.after(4, 1), RingRead::TooFarBehind));
        assert_eq!(numbers(ring.after(5, 2)), (7, vec![6, 7]));
    }

    #[test]
    fn an_event_is_one_line_of_data_with_its_number() {
        let text = String::from_utf8(EncodedEvent::new(event(7)).frame.to_vec()).unwrap();
        let mut lines = text.lines();
        assert_eq!((lines.next(), lines.next()), (Some("id: 7"), Some("event: k")));
        assert!(lines.next().is_some_and(|line| line.starts_with("data: {")));
        assert_eq!((lines.next(), lines.next()), (Some(""), None));
    }
}

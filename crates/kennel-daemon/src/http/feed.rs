//! The newest events, read from the register once for all who follow them.
//!
//! ```text
//! register ──(one task, while somebody follows)──> ring ──> follower, follower, …
//!     └──────────────────── those who are further behind than the ring goes ───┘
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use kennel_types::EventView;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::sse;
use kennel_register::{EventQuery, Register};

/// How many events are at hand: who falls behind further reads them from the register.
const RING: usize = 1024;
/// How many are read at once.
const PIECE: usize = 256;
/// The pause after the register could not be read.
const PAUSE: Duration = Duration::from_secs(1);

/// An event, ready to be sent.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) session: Option<String>,
    pub(super) kind: String,
    pub(super) frame: Bytes,
}

impl Entry {
    pub(super) fn new(event: EventView) -> Self {
        let frame = frame(&event);
        Self { seq: event.seq, session: event.session, kind: event.kind, frame }
    }
}

/// An event as it is sent.
fn frame(event: &EventView) -> Bytes {
    let mut frame = Vec::new();
    match serde_json::to_string(event) {
        Ok(data) => sse::write(&mut frame, &event.seq.to_string(), &event.kind, &data),
        Err(error) => tracing::error!(%error, "an event can't be written as JSON"),
    }
    frame.into()
}

/// What is at hand: every event after `after` and up to `upto`.
#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<Arc<Entry>>,
    after: u64,
    upto: u64,
    /// Set while there is a task that reads on: the number of the newest.
    news: Option<watch::Sender<u64>>,
}

impl Ring {
    fn begin(&mut self, latest: u64) {
        self.entries.clear();
        (self.after, self.upto) = (latest, latest);
    }

    fn add(&mut self, events: Vec<EventView>) {
        for event in events {
            self.upto = event.seq;
            self.entries.push_back(Arc::new(Entry::new(event)));
        }
        while self.entries.len() > RING {
            self.after = self.entries.pop_front().map_or(self.after, |dropped| dropped.seq);
        }
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Feed(Arc<Mutex<Ring>>);

/// What comes after some event.
#[derive(Debug)]
pub(super) enum Next {
    /// These, and with them all up to this number.
    At(u64, Vec<Arc<Entry>>),
    /// It is too far back: the register has it.
    FurtherBack,
}

impl Feed {
    /// Follows the log: changes when there are new events. Closed if they can't be read any more.
    pub(super) fn follow(&self, register: &Register) -> watch::Receiver<u64> {
        let mut ring = self.lock();
        if let Some(news) = &ring.news {
            return news.subscribe();
        }
        let mut latest = register.latest_seq();
        ring.begin(*latest.borrow_and_update());
        let (news, receiver) = watch::channel(ring.upto);
        ring.news = Some(news.clone());
        tokio::spawn(self.clone().read_on(register.clone(), latest, news));
        receiver
    }

    /// At most so many of the events after this one.
    pub(super) fn after(&self, since: u64, most: usize) -> Next {
        let ring = self.lock();
        if since < ring.after {
            return Next::FurtherBack;
        }
        let from = ring.entries.partition_point(|entry| entry.seq <= since);
        let entries: Vec<_> = ring.entries.iter().skip(from).take(most).cloned().collect();
        let all = entries.len() < most;
        let upto = entries.last().filter(|_| !all).map_or(ring.upto, |last| last.seq);
        Next::At(upto.max(since), entries)
    }

    /// Reads what is new, as long as somebody follows.
    async fn read_on(
        self,
        register: Register,
        mut latest: watch::Receiver<u64>,
        news: watch::Sender<u64>,
    ) {
        loop {
            tokio::select! {
                changed = latest.changed() => {
                    if changed.is_err() {
                        self.lock().news = None;
                        return;
                    }
                    self.catch_up(&register, &news).await;
                }
                () = news.closed() => {
                    let mut ring = self.lock();
                    if news.receiver_count() == 0 {
                        *ring = Ring::default();
                        return;
                    }
                }
            }
        }
    }

    async fn catch_up(&self, register: &Register, news: &watch::Sender<u64>) {
        loop {
            let query = EventQuery { since: self.lock().upto, session: None, limit: PIECE };
            let register = register.clone();
            match spawn_blocking(move || register.events(query)).await {
                Ok(Ok(events)) => {
                    let read = events.len();
                    let upto = {
                        let mut ring = self.lock();
                        ring.add(events);
                        ring.upto
                    };
                    news.send_if_modified(|newest| std::mem::replace(newest, upto) != upto);
                    if read < PIECE {
                        return;
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "events can't be read");
                    if news.receiver_count() == 0 {
                        return;
                    }
                    sleep(PAUSE).await;
                }
                Err(_) => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        // What is inside is whole at any time.
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

    fn feed(after: u64, numbers: impl IntoIterator<Item = u64>) -> Feed {
        let feed = Feed::default();
        feed.lock().begin(after);
        feed.lock().add(numbers.into_iter().map(event).collect());
        feed
    }

    fn at(next: Next) -> (u64, Vec<u64>) {
        match next {
            Next::At(upto, entries) => (upto, entries.iter().map(|entry| entry.seq).collect()),
            Next::FurtherBack => panic!("it is at hand"),
        }
    }

    #[test]
    fn who_is_near_enough_gets_what_is_at_hand() {
        let feed = feed(10, [11, 12, 14]);
        assert_eq!(at(feed.after(10, 9)), (14, vec![11, 12, 14]));
        assert_eq!(at(feed.after(11, 1)), (12, vec![12]));
        assert_eq!(at(feed.after(12, 9)), (14, vec![14]));
        assert_eq!(at(feed.after(14, 9)), (14, vec![]));
        assert_eq!(at(feed.after(20, 9)), (20, vec![]), "nobody is sent back");
        assert!(matches!(feed.after(9, 9), Next::FurtherBack));
    }

    #[test]
    fn what_is_too_much_is_left_to_the_register() {
        let feed = feed(0, 1..=RING as u64 + 5);
        assert!(matches!(feed.after(4, 1), Next::FurtherBack));
        assert_eq!(at(feed.after(5, 2)), (7, vec![6, 7]));
    }

    #[test]
    fn an_event_is_one_line_of_data_with_its_number() {
        let text = String::from_utf8(frame(&event(7)).to_vec()).unwrap();
        let mut lines = text.lines();
        assert_eq!((lines.next(), lines.next()), (Some("id: 7"), Some("event: k")));
        assert!(lines.next().is_some_and(|line| line.starts_with("data: {")));
        assert_eq!((lines.next(), lines.next()), (Some(""), None));
    }
}

//! The event log as server-sent events: it goes on where the client was, over a restart of the daemon too.

use std::io;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use kennel_register::{EventPage, EventQuery};
use kennel_types::SessionId;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::events::{CATCH_UP, Kinds, PIECE, begin};
use super::feed::{Entry, Next};
use super::pull::{self, Pieces};
use super::{Api, sse};
use crate::error::ApiError;

/// What a client wants to see.
pub(super) struct Wanted {
    pub(super) since: Option<u64>,
    /// Only for those who begin: who comes back has missed nothing.
    pub(super) tail: Option<u64>,
    pub(super) session: Option<SessionId>,
    pub(super) kinds: Kinds,
}

/// Tells events for as long as the client stays.
pub(super) async fn tell(
    api: Api,
    wanted: Wanted,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let given_back = match sse::last_id(headers) {
        None => None,
        Some(id) => {
            let number = id.parse::<u64>();
            Some(number.map_err(|_| ApiError::invalid("Last-Event-ID is no number of an event"))?)
        }
    };
    let since = given_back.or(wanted.since);
    let news = api.0.live.feed.follow(&api.0.register);
    // What has happened is to be read, even if it is written a little later. If it can't be written, what is there
    // will do.
    drop(timeout(CATCH_UP, api.0.register.catch_up()).await);
    let latest = *api.0.register.latest_seq().borrow();
    let mut waiting = sse::HELLO.as_bytes().to_vec();
    if let Some(asked) = since.filter(|since| *since > latest) {
        // Of another register, or of one that was brought back from a copy.
        let data = format!("{{\"asked\":{asked},\"latest\":{latest}}}");
        sse::write(&mut waiting, &latest.to_string(), "reset", &data);
    }
    let tail = wanted.tail.filter(|_| given_back.is_none());
    let stream = EventStream {
        leaving: api.0.leaving.clone(),
        api,
        since: begin(since.unwrap_or(0).min(latest), tail, latest),
        says_missed: since.is_some(),
        session: wanted.session,
        kinds: wanted.kinds,
        news,
        waiting,
    };
    let mut response = pull::body(stream).into_response();
    sse::mark(&mut response);
    Ok(response)
}

struct EventStream {
    api: Api,
    /// The last one that was told or passed over.
    since: u64,
    /// Whether the client expects all that come after that.
    says_missed: bool,
    session: Option<SessionId>,
    kinds: Kinds,
    news: watch::Receiver<u64>,
    leaving: watch::Receiver<bool>,
    /// To be sent first.
    waiting: Vec<u8>,
}

impl Pieces for EventStream {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let mut piece = std::mem::take(&mut self.waiting);
            // Before the look: what comes after it is not missed.
            self.news.borrow_and_update();
            let whole;
            match self.api.0.live.feed.after(self.since, PIECE) {
                Next::At(upto, entries) => {
                    whole = entries.len() < PIECE;
                    self.since = upto;
                    if let ([entry], true) = (entries.as_slice(), piece.is_empty())
                        && self.wants(entry)
                    {
                        // One event to a thousand clients is there once.
                        return Some(Ok(entry.frame.clone()));
                    }
                    for entry in entries.iter().filter(|entry| self.wants(entry)) {
                        piece.extend(&entry.frame);
                    }
                }
                Next::FurtherBack => match self.read_back(&mut piece).await {
                    Ok(()) => whole = false,
                    Err(error) => return Some(Err(error)),
                },
            }
            if !piece.is_empty() {
                return Some(Ok(piece.into()));
            }
            if whole {
                tokio::select! {
                    changed = self.news.changed() => if changed.is_err() { return None },
                    _ = self.leaving.wait_for(|leaving| *leaving) => return None,
                    () = sleep(sse::KEEP_ALIVE) => return Some(Ok(sse::ALIVE)),
                }
            }
        }
    }
}

impl EventStream {
    fn wants(&self, entry: &Entry) -> bool {
        let session = self.session.as_ref().map(SessionId::as_str);
        let of_it = session.is_none_or(|session| entry.session.as_deref() == Some(session));
        of_it && self.kinds.have(&entry.kind)
    }

    /// Reads from the register what is not at hand any more.
    async fn read_back(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
        let register = self.api.0.register.clone();
        // Whatever has this number or a smaller one is there by now.
        let upto = *register.latest_seq().borrow();
        let query = EventQuery { since: self.since, session: self.session.clone(), limit: PIECE };
        let read = spawn_blocking(move || register.event_page(&query)).await;
        let EventPage { events, oldest } =
            read.map_err(io::Error::other)?.map_err(io::Error::other)?;
        let expected = self.since + 1;
        let first = oldest.unwrap_or(upto + 1);
        if first > expected && self.says_missed {
            let (from, to) = (expected, first - 1);
            let data = format!("{{\"from\":{from},\"to\":{to}}}");
            sse::write(piece, &to.to_string(), "missed", &data);
        }
        self.says_missed = true;
        let all = events.len() < PIECE;
        for event in events {
            let entry = Entry::new(event);
            self.since = entry.seq;
            if self.wants(&entry) {
                piece.extend(&entry.frame);
            }
        }
        if all {
            self.since = self.since.max(upto);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_core::Stream as _;
    use kennel_pen::HomeId;

    use std::sync::Arc;

    use super::super::{Access, AccessBeginning, Instruments, Live, Shared};
    use super::*;
    use crate::launch::stdin_handoff::StdinHandoff;
    use crate::os::home::Home;
    use kennel_register::{NewEvent, Register, Retention};

    struct World {
        api: Api,
        _folder: tempfile::TempDir,
        _leave: watch::Sender<bool>,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let id = HomeId::random().unwrap();
            let opened = Register::open(&folder.path().join("register.db"), id.as_str()).unwrap();
            let (bus, _messages) = tokio::sync::mpsc::unbounded_channel();
            let (leave, leaving) = watch::channel(false);
            let home = Home { folder: folder.path().to_owned(), id };
            let (deposit, live) = (StdinHandoff::default(), Live::new(Duration::ZERO));
            let register = opened.register;
            let access = Access::new(AccessBeginning::default());
            let instruments = Instruments::new(Arc::default(), Vec::new(), leaving.clone());
            let api = Api::new(Shared {
                bus,
                register,
                deposit,
                home,
                instruments,
                live,
                access,
                leaving,
            });
            Self { api, _folder: folder, _leave: leave }
        }

        async fn log(&self, count: u64) {
            for number in 0..count {
                let kind = if number % 2 == 0 { "even" } else { "odd" }.to_owned();
                let (cause, by) = (String::new(), None);
                self.api.0.register.log(NewEvent { time_ms: 1, session: None, kind, cause, by });
            }
            self.api.0.register.catch_up().await.unwrap().unwrap();
        }

        /// What is told at first to one who has seen this; `None` if it does not ask.
        async fn told(&self, since: Option<u64>, kinds: &str) -> Vec<String> {
            let wanted =
                Wanted { since, tail: None, session: None, kinds: Kinds::from(kinds.to_owned()) };
            let response = tell(self.api.clone(), wanted, &HeaderMap::new()).await.unwrap();
            let mut body = Box::pin(response.into_body().into_data_stream());
            let mut text = String::new();
            loop {
                let piece = std::future::poll_fn(|cx| body.as_mut().poll_next(cx));
                // Nothing more comes when all was told.
                let Ok(piece) = timeout(Duration::from_millis(300), piece).await else { break };
                text += std::str::from_utf8(&piece.unwrap().unwrap()).unwrap();
            }
            let mut told = Vec::new();
            for block in text.split("\n\n").filter(|block| block.starts_with("id: ")) {
                let lines: Vec<_> = block.lines().collect();
                let data = lines[2].trim_start_matches("data: ");
                told.push(match &lines[1]["event: ".len()..] {
                    event @ ("missed" | "reset") => format!("{event} {data}"),
                    _ => lines[0]["id: ".len()..].to_owned(),
                });
            }
            told
        }
    }

    #[tokio::test]
    async fn what_was_dropped_is_told_first_to_who_expects_it() {
        let world = World::new();
        world.log(20).await;
        let retention = Retention { max_events: 3, max_ended_sessions: 9 };
        world.api.0.register.retain(retention).await.unwrap().unwrap();
        let missed = |from| format!("missed {{\"from\":{from},\"to\":17}}");
        assert_eq!(world.told(Some(5), "").await, [&missed(6), "18", "19", "20"]);
        assert_eq!(world.told(Some(0), "odd").await, [&missed(1), "18", "20"]);
        assert_eq!(world.told(None, "").await, ["18", "19", "20"], "who asks for what there is");
        assert_eq!(world.told(Some(17), "").await, ["18", "19", "20"]);
        assert_eq!(world.told(Some(20), "").await, Vec::<String>::new());
        assert_eq!(world.told(Some(21), "").await, [r#"reset {"asked":21,"latest":20}"#]);
    }

    #[tokio::test]
    async fn who_is_far_behind_is_told_everything_in_order() {
        let world = World::new();
        world.log(1000).await;
        let all: Vec<String> = (1..=1000).map(|number| number.to_string()).collect();
        assert_eq!(world.told(None, "").await, all);
        let even: Vec<String> = (301..=1000).step_by(2).map(|number| number.to_string()).collect();
        assert_eq!(world.told(Some(300), "even").await, even);
    }
}

//! The event log as server-sent events. A client resumes where it was, also after a restart of the daemon.

use std::io;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use kennel_daemon::ApiError;
use kennel_register::{EventPage, EventQuery};
use kennel_types::SessionId;
use tokio::sync::watch;

use super::ring::{EncodedEvent, RingRead};
use super::{EventKinds, PAGE, first};
use crate::api::Api;
use crate::error::HandlerResult;
use crate::stream::ChunkSource;
use crate::stream::sse::{self, Wake};

pub(super) struct EventFilter {
    pub(super) since: Option<u64>,
    /// Only for the first request: a client that resumes gets all events since then.
    pub(super) tail: Option<u64>,
    pub(super) session: Option<SessionId>,
    pub(super) kinds: EventKinds,
}

/// Sends events until the client disconnects.
pub(super) async fn respond(
    api: Api,
    filter: EventFilter,
    headers: &HeaderMap,
) -> HandlerResult<Response> {
    let resumed = sse::last_id(headers).map(str::parse::<u64>).transpose();
    let resumed = resumed.map_err(|_| ApiError::invalid("Last-Event-ID must be a number"))?;
    let since = resumed.or(filter.since);
    let newest = api.streams.events.follow(&api.daemon);
    api.daemon.flush_events().await;
    let latest = *api.daemon.latest_event().borrow();
    let mut pending = sse::RETRY.as_bytes().to_vec();
    if let Some(asked) = since.filter(|since| *since > latest) {
        // The number belongs to another register, or this register was restored from a copy.
        let data = format!("{{\"asked\":{asked},\"latest\":{latest}}}");
        sse::write(&mut pending, &latest.to_string(), "reset", &data);
    }
    let tail = filter.tail.filter(|_| resumed.is_none());
    Ok(sse::respond(EventStream {
        api,
        since: first(since.unwrap_or(0).min(latest), tail, latest),
        reports_missed: since.is_some(),
        session: filter.session,
        kinds: filter.kinds,
        newest,
        pending,
    }))
}

struct EventStream {
    api: Api,
    /// The last event that was sent or filtered out.
    since: u64,
    /// Whether the client expects every event after that.
    reports_missed: bool,
    session: Option<SessionId>,
    kinds: EventKinds,
    newest: watch::Receiver<u64>,
    pending: Vec<u8>,
}

impl ChunkSource for EventStream {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let mut chunk = std::mem::take(&mut self.pending);
            // Mark the value as seen before the ring is read, so that no later event is missed.
            self.newest.borrow_and_update();
            let caught_up;
            match self.api.streams.events.after(self.since, PAGE) {
                RingRead::Events(upto, events) => {
                    caught_up = events.len() < PAGE;
                    self.since = upto;
                    if let ([event], true) = (events.as_slice(), chunk.is_empty())
                        && self.wants(event)
                    {
                        // All clients share the bytes of an event.
                        return Some(Ok(event.frame.clone()));
                    }
                    for event in events.iter().filter(|event| self.wants(event)) {
                        chunk.extend(&event.frame);
                    }
                }
                RingRead::TooFarBehind => match self.read_register(&mut chunk).await {
                    Ok(()) => caught_up = false,
                    Err(error) => return Some(Err(error)),
                },
            }
            if !chunk.is_empty() {
                return Some(Ok(chunk.into()));
            }
            if caught_up {
                match sse::wait(&mut self.newest, &self.api.daemon).await {
                    Wake::Changed => {}
                    Wake::KeepAlive => return Some(Ok(sse::ALIVE)),
                    Wake::Over => return None,
                }
            }
        }
    }
}

impl EventStream {
    fn wants(&self, event: &EncodedEvent) -> bool {
        let session = self.session.as_ref().map(SessionId::as_str);
        let of_session = session.is_none_or(|session| event.session.as_deref() == Some(session));
        of_session && self.kinds.include(&event.kind)
    }

    /// Reads events that are no longer in the ring.
    async fn read_register(&mut self, chunk: &mut Vec<u8>) -> io::Result<()> {
        // All events up to this number are already written.
        let upto = *self.api.daemon.latest_event().borrow();
        let query = EventQuery { since: self.since, session: self.session.clone(), limit: PAGE };
        let page = self.api.daemon.event_page(query).await;
        let EventPage { events, oldest } = page.map_err(io::Error::other)?;
        let expected = self.since + 1;
        let first = oldest.unwrap_or(upto + 1);
        if first > expected && self.reports_missed {
            let (from, to) = (expected, first - 1);
            let data = format!("{{\"from\":{from},\"to\":{to}}}");
            sse::write(chunk, &to.to_string(), "missed", &data);
        }
        self.reports_missed = true;
        let all = events.len() < PAGE;
        for event in events {
            let event = EncodedEvent::new(event);
            self.since = event.seq;
            if self.wants(&event) {
                chunk.extend(&event.frame);
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

    use futures_util::StreamExt;
    use kennel_register::{NewEvent, Register, Retention};
    use tokio::time::timeout;

    use super::*;

    struct TestLog {
        api: Api,
        register: Register,
        _folder: tempfile::TempDir,
        _shutdown: watch::Sender<bool>,
    }

    impl TestLog {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let (api, shutdown, register) = crate::api::detached(folder.path());
            Self { api, register, _folder: folder, _shutdown: shutdown }
        }

        async fn log(&self, count: u64) {
            for number in 0..count {
                let kind = if number % 2 == 0 { "even" } else { "odd" }.to_owned();
                let (cause, by) = (String::new(), None);
                self.register.log(NewEvent { time_ms: 1, session: None, kind, cause, by });
            }
            self.register.catch_up().await.unwrap().unwrap();
        }

        /// Returns the first events for a client that sends `since`.
        async fn sent(&self, since: Option<u64>, kinds: &str) -> Vec<String> {
            let kinds = EventKinds::from(kinds.to_owned());
            let filter = EventFilter { since, tail: None, session: None, kinds };
            let response = respond(self.api.clone(), filter, &HeaderMap::new()).await.unwrap();
            let mut body = response.into_body().into_data_stream();
            let mut text = String::new();
            loop {
                // The stream stays open and silent once all events are sent.
                let Ok(chunk) = timeout(Duration::from_millis(300), body.next()).await else {
                    break;
                };
                text += std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap();
            }
            let mut sent = Vec::new();
            for block in text.split("\n\n").filter(|block| block.starts_with("id: ")) {
                let lines: Vec<_> = block.lines().collect();
                let data = lines[2].trim_start_matches("data: ");
                sent.push(match &lines[1]["event: ".len()..] {
                    event @ ("missed" | "reset") => format!("{event} {data}"),
                    _ => lines[0]["id: ".len()..].to_owned(),
                });
            }
            sent
        }
    }

    #[tokio::test]
    async fn reports_dropped_events_to_clients_that_expect_them() {
        let log = TestLog::new();
        log.log(20).await;
        let retention = Retention { max_events: 3, max_ended_sessions: 9 };
        log.register.retain(retention).await.unwrap().unwrap();
        let missed = |from| format!("missed {{\"from\":{from},\"to\":17}}");
        assert_eq!(log.sent(Some(5), "").await, [&missed(6), "18", "19", "20"]);
        assert_eq!(log.sent(Some(0), "odd").await, [&missed(1), "18", "20"]);
        assert_eq!(log.sent(None, "").await, ["18", "19", "20"], "it requests the existing events");
        assert_eq!(log.sent(Some(17), "").await, ["18", "19", "20"]);
        assert_eq!(log.sent(Some(20), "").await, Vec::<String>::new());
        assert_eq!(log.sent(Some(21), "").await, [r#"reset {"asked":21,"latest":20}"#]);
    }

    #[tokio::test]
    async fn sends_everything_in_order_to_a_client_that_is_far_behind() {
        let log = TestLog::new();
        log.log(1000).await;
        let all: Vec<String> = (1..=1000).map(|number| number.to_string()).collect();
        assert_eq!(log.sent(None, "").await, all);
        let even: Vec<String> = (301..=1000).step_by(2).map(|number| number.to_string()).collect();
        assert_eq!(log.sent(Some(300), "even").await, even);
    }
}

//! The event log: existing events, and new ones as they are logged.
//!
//! Events are read from the register in pages, by number, as fast as the client reads them: a slow client costs nothing.

pub(crate) mod ring;
mod stream;

use std::io;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use kennel_daemon::{ApiError, DaemonHandle};
use kennel_register::EventQuery;
use kennel_types::SessionId;
use serde::Deserialize;
use tokio::sync::watch;

use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::Params;
use crate::stream::sse::{self, Wake};
use crate::stream::{ChunkSource, NDJSON, append_line};
use stream::EventFilter;

const PAGE: usize = 256;

/// Selects events.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EventParams {
    /// Only events after this number.
    since: Option<u64>,
    /// Only events up to and including this number. Then `follow` has no effect.
    until: Option<u64>,
    /// Only events among this many at the end of the log. 0: only new events.
    tail: Option<u64>,
    session: Option<String>,
    kind: EventKinds,
    follow: bool,
    format: Option<EventFormat>,
}

/// The format of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum EventFormat {
    Ndjson,
    Sse,
}

/// Kinds of events, separated by commas. Empty: all kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "String")]
struct EventKinds(Vec<String>);

impl From<String> for EventKinds {
    fn from(text: String) -> Self {
        Self(text.split(',').map(str::trim).filter(|k| !k.is_empty()).map(str::to_owned).collect())
    }
}

impl EventKinds {
    fn include(&self, kind: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted == kind)
    }
}

pub(crate) async fn events(
    api: Api,
    headers: HeaderMap,
    Params(params): Params<EventParams>,
) -> HandlerResult<Response> {
    let EventParams { since, until, tail, session, kind: kinds, follow, format } = params;
    let session = match session {
        None => None,
        Some(reference) => Some(find(&api.daemon, reference).await?),
    };
    let as_events =
        format.map_or_else(|| sse::is_accepted(&headers), |format| format == EventFormat::Sse);
    if as_events {
        if until.is_some() {
            let why =
                "`until` and a stream of events are mutually exclusive: the stream has no end";
            return Err(ApiError::invalid(why).into());
        }
        return stream::respond(api, EventFilter { since, tail, session, kinds }, &headers).await;
    }
    let latest = api.daemon.latest_event();
    api.daemon.flush_events().await;
    let since = first(since.unwrap_or(0), tail, *latest.borrow());
    let query = EventQuery { since, session, limit: PAGE };
    let follow = follow && until.is_none();
    let lines = EventLines { api, query, until, kinds, follow, latest, complete: false };
    Ok(crate::stream::respond(NDJSON, lines))
}

/// Finds a session. One that was removed from the record still has its events.
async fn find(daemon: &DaemonHandle, reference: String) -> Result<SessionId, ApiError> {
    if let Ok(id) = SessionId::parse(&reference) {
        return Ok(id);
    }
    let view = daemon.show(reference).await?;
    SessionId::parse(&view.id).map_err(ApiError::internal)
}

/// Returns the number before the last `tail` events, or `since` if that is later.
fn first(since: u64, tail: Option<u64>, latest: u64) -> u64 {
    tail.map_or(since, |tail| since.max(latest.saturating_sub(tail)))
}

/// Events as lines of JSON, until there are no more, or the daemon shuts down.
struct EventLines {
    api: Api,
    query: EventQuery,
    until: Option<u64>,
    kinds: EventKinds,
    follow: bool,
    latest: watch::Receiver<u64>,
    complete: bool,
}

impl ChunkSource for EventLines {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        while !self.complete {
            // Mark the value as seen before the events are read, so that no later event is missed.
            self.latest.borrow_and_update();
            let (chunk, caught_up) = match self.read().await {
                Ok(read) => read,
                Err(error) => return Some(Err(error)),
            };
            if !chunk.is_empty() {
                return Some(Ok(chunk.into()));
            }
            if caught_up && !self.complete {
                let wake = sse::wait(&mut self.latest, &self.api.daemon).await;
                self.complete = wake == Wake::Over;
            }
        }
        None
    }
}

impl EventLines {
    /// Reads a page. Returns its lines, and whether it is the last one for now.
    async fn read(&mut self) -> io::Result<(Vec<u8>, bool)> {
        let events = self.api.daemon.events(self.query.clone()).await.map_err(io::Error::other)?;
        let caught_up = events.len() < self.query.limit;
        self.complete = caught_up && !self.follow;
        let mut lines = Vec::new();
        for event in &events {
            if self.until.is_some_and(|until| event.seq > until) {
                self.complete = true;
                break;
            }
            self.query.since = event.seq;
            if self.kinds.include(&event.kind) {
                append_line(&mut lines, event)?;
            }
        }
        Ok((lines, caught_up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_begins_at_since_or_later() {
        assert_eq!(first(0, None, 100), 0);
        assert_eq!(first(0, Some(30), 100), 70);
        assert_eq!(first(90, Some(30), 100), 90);
        assert_eq!(first(0, Some(0), 100), 100);
        assert_eq!(first(0, Some(101), 100), 0);
    }

    #[test]
    fn kinds_are_separated_by_commas_and_none_means_all() {
        let kinds = EventKinds::from("running, reaped,".to_owned());
        assert!(kinds.include("running") && kinds.include("reaped") && !kinds.include("reserved"));
        assert!(EventKinds::from(String::new()).include("anything"));
    }
}

//! The event log: the part that exists, or as it grows.
//!
//! Events are read from the register in pages, by number, as fast as the client takes them: a slow client costs nothing.

pub(crate) mod ring;
mod stream;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use kennel_daemon::{ApiError, DaemonHandle};
use kennel_register::{EventQuery, ReadError};
use kennel_types::SessionId;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::Params;
use crate::stream::{ndjson, sse};
use stream::EventFilter;

/// How many events are read at once.
const PAGE: usize = 256;
/// How many lines wait for a slow client.
const LINES_AHEAD: usize = 16;

/// Which events.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct EventParams {
    /// Events after this number.
    since: Option<u64>,
    /// Events up to and including this number; then `follow` has no effect.
    until: Option<u64>,
    /// Only events among the last so many of the log; 0: only new ones.
    tail: Option<u64>,
    session: Option<String>,
    #[serde(default)]
    kind: EventKinds,
    #[serde(default)]
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

/// Kinds of events, separated by commas; empty: all.
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
    State(api): State<Api>,
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
    let (lines, mut sent) = mpsc::channel(LINES_AHEAD);
    let range = EventRange { since: since.unwrap_or(0), until, tail, follow };
    tokio::spawn(async move {
        if let Err(error) = send_lines(&api.daemon, range, session, &kinds, &lines).await {
            tracing::warn!(%error, "can't read events");
        }
    });
    Ok(ndjson::respond(move |context| sent.poll_recv(context)))
}

/// A session that was removed from the record still has its events.
async fn find(daemon: &DaemonHandle, reference: String) -> Result<SessionId, ApiError> {
    if let Ok(id) = SessionId::parse(&reference) {
        return Ok(id);
    }
    let view = daemon.show(reference).await?;
    SessionId::parse(&view.id).map_err(ApiError::internal)
}

/// A part of the log.
struct EventRange {
    since: u64,
    until: Option<u64>,
    tail: Option<u64>,
    follow: bool,
}

/// The number before the last `tail` events, or `since` if that is later.
fn first(since: u64, tail: Option<u64>, latest: u64) -> u64 {
    tail.map_or(since, |tail| since.max(latest.saturating_sub(tail)))
}

/// Sends events until there are no more, the client disconnects, or the daemon shuts down.
async fn send_lines(
    daemon: &DaemonHandle,
    range: EventRange,
    session: Option<SessionId>,
    kinds: &EventKinds,
    lines: &mpsc::Sender<Bytes>,
) -> Result<(), ReadError> {
    let mut latest = daemon.latest_event();
    daemon.flush_events().await;
    let EventRange { since, until, tail, follow } = range;
    let since = first(since, tail, *latest.borrow());
    let mut query = EventQuery { since, session, limit: PAGE };
    loop {
        latest.borrow_and_update();
        let events = daemon.events(query.clone()).await?;
        for event in &events {
            if until.is_some_and(|until| event.seq > until) {
                return Ok(());
            }
            query.since = event.seq;
            if kinds.include(&event.kind)
                && let Some(line) = ndjson::line(event)
                && lines.send(line).await.is_err()
            {
                return Ok(());
            }
        }
        if events.len() >= query.limit {
            continue;
        }
        if !follow || until.is_some() {
            return Ok(());
        }
        tokio::select! {
            changed = latest.changed() => if changed.is_err() { return Ok(()) },
            () = daemon.shutting_down() => return Ok(()),
            () = lines.closed() => return Ok(()),
        }
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

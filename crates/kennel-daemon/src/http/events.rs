//! The event log, as far as it goes or as it grows.
//!
//! Read from the register in pieces, by number, as fast as the client takes them: a slow one costs nothing.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use kennel_register::{EventQuery, ReadError};
use kennel_types::SessionId;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::body::Params;
use super::event_stream::{self, Wanted};
use super::{Api, sse, stream};
use crate::error::ApiError;
use crate::owner::message::Command;

/// How many are read at once.
pub(super) const PIECE: usize = 256;
/// How many lines wait for a slow client.
const AHEAD: usize = 16;

/// How long what has happened may take to get into the log before it is read all the same.
pub(super) const CATCH_UP: Duration = Duration::from_secs(1);

/// Which events.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// Those after this one.
    since: Option<u64>,
    /// Up to this one, with it; then nothing is followed.
    until: Option<u64>,
    /// Only what is among the last so many of the log; 0 is from now on.
    tail: Option<u64>,
    session: Option<String>,
    #[serde(default)]
    kind: Kinds,
    #[serde(default)]
    follow: bool,
    format: Option<Form>,
}

/// How they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Form {
    Ndjson,
    Sse,
}

/// Which kinds of events: some, by their names with commas between them, or all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "String")]
pub(super) struct Kinds(Vec<String>);

impl From<String> for Kinds {
    fn from(text: String) -> Self {
        Self(text.split(',').map(str::trim).filter(|k| !k.is_empty()).map(str::to_owned).collect())
    }
}

impl Kinds {
    pub(super) fn have(&self, kind: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted == kind)
    }
}

pub(super) async fn events(
    State(api): State<Api>,
    headers: HeaderMap,
    Params(which): Params<Which>,
) -> Result<Response, ApiError> {
    let session = match which.session.clone() {
        None => None,
        Some(reference) => Some(find(&api, reference).await?),
    };
    let Which { since, until, tail, kind: kinds, follow, format, .. } = which;
    let as_events = format.map_or_else(|| sse::is_accepted(&headers), |form| form == Form::Sse);
    if as_events {
        if until.is_some() {
            let why = "`until` is for a part of the log, and a stream of events goes on: leave one of them out";
            return Err(ApiError::invalid(why));
        }
        return event_stream::tell(api, Wanted { since, tail, session, kinds }, &headers).await;
    }
    let (lines, told) = mpsc::channel(AHEAD);
    let extent = Extent { since: since.unwrap_or(0), until, tail, follow };
    tokio::spawn(async move {
        if let Err(error) = tell(&api, extent, session, &kinds, &lines).await {
            tracing::warn!(%error, "events can't be read");
        }
    });
    Ok(stream::respond(told))
}

/// A session that is gone from the record still has its events.
async fn find(api: &Api, reference: String) -> Result<SessionId, ApiError> {
    if let Ok(id) = SessionId::parse(&reference) {
        return Ok(id);
    }
    let view = api.ask(|answer| Command::Show { reference, answer }).await?;
    SessionId::parse(&view.id).map_err(ApiError::internal)
}

/// Which part of the log.
struct Extent {
    since: u64,
    until: Option<u64>,
    tail: Option<u64>,
    follow: bool,
}

/// The number before the last `tail` events, if these come later than `since`.
pub(super) fn begin(since: u64, tail: Option<u64>, latest: u64) -> u64 {
    tail.map_or(since, |tail| since.max(latest.saturating_sub(tail)))
}

/// Tells until there are no more, the client has gone, or we leave.
async fn tell(
    api: &Api,
    extent: Extent,
    session: Option<SessionId>,
    kinds: &Kinds,
    lines: &mpsc::Sender<Bytes>,
) -> Result<(), ReadError> {
    let mut latest = api.0.register.latest_seq();
    let mut leaving = api.0.leaving.clone();
    // What has happened is to be read, even if it is written a little later. If it can't be written, what is there
    // will do.
    drop(tokio::time::timeout(CATCH_UP, api.0.register.catch_up()).await);
    let Extent { since, until, tail, follow } = extent;
    let since = begin(since, tail, *latest.borrow());
    let mut query = EventQuery { since, session, limit: PIECE };
    loop {
        latest.borrow_and_update();
        let (register, asked) = (api.0.register.clone(), query.clone());
        let Ok(events) = spawn_blocking(move || register.events(asked)).await else {
            return Ok(());
        };
        let events = events?;
        for event in &events {
            if until.is_some_and(|until| event.seq > until) {
                return Ok(());
            }
            query.since = event.seq;
            if kinds.have(&event.kind)
                && let Some(line) = stream::line(event)
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
            _ = leaving.wait_for(|leaving| *leaving) => return Ok(()),
            () = lines.closed() => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_the_log_begins_where_it_is_asked_to_or_later() {
        assert_eq!(begin(0, None, 100), 0);
        assert_eq!(begin(0, Some(30), 100), 70);
        assert_eq!(begin(90, Some(30), 100), 90);
        assert_eq!(begin(0, Some(0), 100), 100);
        assert_eq!(begin(0, Some(101), 100), 0);
    }

    #[test]
    fn kinds_are_told_apart_by_commas_and_none_means_all() {
        let kinds = Kinds::from("running, reaped,".to_owned());
        assert!(kinds.have("running") && kinds.have("reaped") && !kinds.have("reserved"));
        assert!(Kinds::from(String::new()).have("anything"));
    }
}

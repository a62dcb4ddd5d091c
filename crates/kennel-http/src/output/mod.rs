//! The output of a session.
//!
//! It is read from the session's journal as fast as the client reads it: a slow client costs nothing. A client that
//! follows is woken when there is more, see [`DaemonHandle::watch_launch`](kennel_daemon::DaemonHandle::watch_launch).

mod cursor;
mod encoder;
mod query;

use std::io;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kennel_daemon::{ApiError, LaunchEnd, LaunchWatch, journal_folder};
use kennel_types::{SessionView, StartedBy};
use tokio::sync::watch;

use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::Params;
use crate::stream::resume_position::{OutputPoint, ResumePosition};
use crate::stream::sse::{self, Wake};
use crate::stream::{ChunkSource, ReadState};
use cursor::OutputCursor;
pub(crate) use encoder::EndRecord;
use encoder::OutputEncoder;
use query::OutputEncoding;
pub(crate) use query::OutputQuery;

/// The launch that the output belongs to.
const LAUNCH: HeaderName = HeaderName::from_static("kennel-launch");
/// The offset of the first byte that can be sent.
const FROM: HeaderName = HeaderName::from_static("kennel-output-from");

pub(crate) async fn output(
    api: Api,
    Path(reference): Path<String>,
    headers: HeaderMap,
    Params(query): Params<OutputQuery>,
) -> HandlerResult<Response> {
    query.check()?;
    let format = query.format(&headers);
    let view = api.daemon.show(reference).await?;
    let (view, resume) =
        ResumePosition::<OutputPoint>::resolve(&api.daemon, view, &headers).await?;
    refuse_adopted(&view, "its output appears only there")?;
    if resume == Some(OutputPoint::End) {
        // A browser does not reconnect after this status.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    // Watch the launch before the journal is read, so that no later output is missed.
    let watch = query.follow.then(|| api.daemon.watch_launch(&view.id));
    let journal = journal_folder(&view);
    let encoder = OutputEncoder::new(view.id.clone(), format);
    let opened = api.streams.on_disk(move || {
        let cursor = OutputCursor::open(&journal, &query, resume, encoder)?;
        let from = cursor.from()?;
        Ok((cursor, from))
    });
    let (cursor, from) = opened
        .await
        .map_err(|error| ApiError::internal(format!("can't read the output: {error}")))?;
    let follower = OutputFollower { api, cursor: Some(cursor), watch, complete: false };
    let mut response = match format {
        OutputEncoding::Sse => sse::respond(follower),
        other => crate::stream::respond(other.media_type(), follower),
    };
    if let Ok(launch) = HeaderValue::from_str(&view.id) {
        response.headers_mut().insert(LAUNCH, launch);
    }
    response.headers_mut().insert(FROM, from.into());
    Ok(response)
}

/// Refuses an adopted session, which has no keeper and no journal.
pub(crate) fn refuse_adopted(view: &SessionView, consequence: &str) -> Result<(), ApiError> {
    match view.started_by {
        StartedBy::User => {
            let id = &view.id;
            let text = format!("session {id} was started in a user's terminal: {consequence}");
            Err(ApiError::conflict(text))
        }
        StartedBy::Kennel => Ok(()),
    }
}

struct OutputFollower {
    api: Api,
    /// `None` during a read, and after a failed one.
    cursor: Option<OutputCursor>,
    /// Set if the response continues until the session ends.
    watch: Option<watch::Receiver<LaunchWatch>>,
    complete: bool,
}

impl ChunkSource for OutputFollower {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        while !self.complete {
            // Check this before the read, so that all output of an ended launch is read after its end is known.
            let end = self.watch.as_mut().and_then(|watch| watch.borrow_and_update().end.clone());
            let mut cursor = self.cursor.take()?;
            let read = self.api.streams.on_disk(move || {
                let state = cursor.read()?;
                Ok((cursor, state))
            });
            let (mut cursor, state) = match read.await {
                Ok(read) => read,
                Err(error) => return Some(Err(error)),
            };
            if let (ReadState::CaughtUp, Some(LaunchEnd::Ended(view))) = (state, &end) {
                cursor.encoder.end(view);
            }
            self.complete = match state {
                ReadState::More => false,
                ReadState::Finished => true,
                ReadState::CaughtUp => end.is_some() || self.watch.is_none(),
            };
            let (written, format) = (cursor.encoder.take(), cursor.encoder.format());
            self.cursor = Some(cursor);
            if !written.is_empty() {
                return Some(Ok(written.into()));
            }
            if state == ReadState::CaughtUp
                && !self.complete
                && let Some(watch) = &mut self.watch
            {
                match sse::wait(watch, &self.api.daemon).await {
                    Wake::KeepAlive if format == OutputEncoding::Sse => {
                        return Some(Ok(sse::ALIVE));
                    }
                    Wake::Changed | Wake::KeepAlive => {}
                    Wake::Over => return None,
                }
            }
        }
        None
    }
}

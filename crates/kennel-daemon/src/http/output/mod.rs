//! What a session has printed, and prints.
//!
//! Read from its journal as fast as the client takes it: a slow one costs nothing. Who follows is woken when there is
//! more; see [`super::pulse`].

mod cursor;
mod mark;
mod record;
mod wish;

use std::io;
use std::path::Path as FilePath;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kennel_types::{SessionView, StartedBy};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::body::Params;
use super::pull::{self, Pieces};
use super::pulse::{Over, Pulse, exactly};
use super::{Api, sse};
use crate::error::ApiError;
use crate::os::home::JOURNAL;
use crate::owner::message::Command;
use cursor::{Cursor, Left};
use mark::{Mark, Place};
pub(super) use record::End;
use record::Teller;
use wish::Form;
pub(super) use wish::Wish;

/// Which launch it is, in a header.
const LAUNCH: HeaderName = HeaderName::from_static("kennel-launch");
/// The offset of the first byte that can come, in a header.
const FROM: HeaderName = HeaderName::from_static("kennel-output-from");

pub(super) async fn output(
    State(api): State<Api>,
    Path(reference): Path<String>,
    headers: HeaderMap,
    Params(wish): Params<Wish>,
) -> Result<Response, ApiError> {
    wish.check()?;
    let form = wish.form(&headers);
    let resume = match sse::last_id(&headers) {
        Some(id) => Some(id.parse::<Mark>().map_err(ApiError::invalid)?),
        None => None,
    };
    let view = find(&api, reference, resume.as_ref().and_then(|mark| mark.launch.clone())).await?;
    let resume = resume.map(|mark| mark.place);
    if resume == Some(Place::End) {
        // By this a browser knows that it need not come back.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    // Before the first look, so that nothing that is printed meanwhile goes unnoticed.
    let pulse = wish.follow.then(|| api.0.live.pulses.follow(&api, &view.id));
    let journal = FilePath::new(&view.folder).join(JOURNAL);
    let teller = Teller::new(view.id.clone(), form);
    let opened = on_disk(&api, move || {
        let cursor = Cursor::open(&journal, &wish, resume, teller)?;
        let from = cursor.from()?;
        Ok((cursor, from))
    });
    let (cursor, from) =
        opened.await.map_err(|error| ApiError::internal(format!("the output: {error}")))?;
    let leaving = api.0.leaving.clone();
    let follower = Follower { api, cursor: Some(cursor), pulse, leaving, told: Told::Some };
    let mut response = pull::body(follower).into_response();
    match form {
        Form::Sse => sse::mark(&mut response),
        other => {
            let kind = HeaderValue::from_static(other.media_type());
            response.headers_mut().insert(CONTENT_TYPE, kind);
        }
    }
    if let Ok(launch) = HeaderValue::from_str(&view.id) {
        response.headers_mut().insert(LAUNCH, launch);
    }
    response.headers_mut().insert(FROM, from.into());
    Ok(response)
}

/// The launch that is meant: the one that the client was reading, if it says so.
async fn find(
    api: &Api,
    reference: String,
    launch: Option<String>,
) -> Result<SessionView, ApiError> {
    let view = show(api, reference).await?;
    let view = match launch.filter(|launch| *launch != view.id) {
        None => view,
        Some(launch) => {
            let former = show(api, exactly(&launch)).await?;
            if former.session != view.session {
                return Err(ApiError::invalid("that event is of another session"));
            }
            former
        }
    };
    refuse_terminal(&view, "what it prints is seen there alone")?;
    Ok(view)
}

/// One session.
pub(super) async fn show(api: &Api, reference: String) -> Result<SessionView, ApiError> {
    api.ask(|answer| Command::Show { reference, answer }).await
}

/// One that a user started has no keeper and no journal.
pub(super) fn refuse_terminal(view: &SessionView, what: &str) -> Result<(), ApiError> {
    match view.started_by {
        StartedBy::User => {
            let text = format!("session {} was started in a terminal of its own: {what}", view.id);
            Err(ApiError::conflict(text))
        }
        StartedBy::Kennel => Ok(()),
    }
}

/// Does something that waits for the disk, when it is its turn.
pub(super) async fn on_disk<T: Send + 'static>(
    api: &Api,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let turn = api.0.live.disk.clone().acquire_owned().await.map_err(io::Error::other)?;
    spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    })
    .await
    .map_err(io::Error::other)?
}

/// How much was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Some,
    All,
}

/// Reads for one client.
struct Follower {
    api: Api,
    /// None while it reads, and after a read that failed.
    cursor: Option<Cursor>,
    /// Set if it goes on until the end of the session.
    pulse: Option<watch::Receiver<Pulse>>,
    leaving: watch::Receiver<bool>,
    told: Told,
}

impl Pieces for Follower {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        while self.told == Told::Some {
            // Before the read: what was printed before the end is read after it.
            let over = self.pulse.as_mut().and_then(|pulse| pulse.borrow_and_update().over.clone());
            let mut cursor = self.cursor.take()?;
            let read = on_disk(&self.api, move || {
                let left = cursor.read()?;
                Ok((cursor, left))
            });
            let (mut cursor, left) = match read.await {
                Ok(read) => read,
                Err(error) => return Some(Err(error)),
            };
            match (left, over) {
                (Left::More, _) => {}
                (Left::Nothing, _) => self.told = Told::All,
                (Left::NothingNow, Some(over)) => {
                    if let Over::Ended(view) = over {
                        cursor.teller.end(&view);
                    }
                    self.told = Told::All;
                }
                (Left::NothingNow, None) if self.pulse.is_none() => self.told = Told::All,
                (Left::NothingNow, None) => {}
            }
            let (written, form) = (cursor.teller.take(), cursor.teller.form());
            self.cursor = Some(cursor);
            if !written.is_empty() {
                return Some(Ok(written.into()));
            }
            if left == Left::NothingNow && self.told == Told::Some {
                let Some(pulse) = &mut self.pulse else { return None };
                tokio::select! {
                    changed = pulse.changed() => if changed.is_err() { return None },
                    _ = self.leaving.wait_for(|leaving| *leaving) => return None,
                    () = sleep(sse::KEEP_ALIVE), if form == Form::Sse => {
                        return Some(Ok(sse::ALIVE));
                    }
                }
            }
        }
        None
    }
}

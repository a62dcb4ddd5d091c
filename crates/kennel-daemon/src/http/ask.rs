//! A prompt: asked, and answered as it comes to whoever wants to hear it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body as Content, BodyDataStream, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Error, Json};
use futures_core::Stream;
use kennel_types::api::AskRequest;
use tokio::sync::oneshot;

use super::access::Identity;
use super::body::Body;
use super::sessions::{begin, name_asker, take_key};
use super::{Api, answer, sse};
use crate::error::ApiError;
use crate::os::clock;
use crate::owner::message::{Command, Until};

pub(super) async fn ask(
    State(api): State<Api>,
    identity: Identity,
    headers: HeaderMap,
    Body(mut request): Body<AskRequest>,
) -> Result<Response, ApiError> {
    take_key(&headers, &mut request.key)?;
    let streamed = sse::is_accepted(&headers);
    // Who does not listen is not missed.
    let tied = streamed && !request.detach;
    request.detach = !tied;
    let named = !request.by.is_empty();
    name_asker(&mut request.by);
    let (began, by) = (clock::rfc3339(clock::now_ms()), request.by.clone());
    let request = request.into_session().map_err(ApiError::invalid)?;
    let view = begin(&api, &identity, request, Until::Accepted, None).await?;
    if !streamed {
        return Ok((StatusCode::CREATED, Json(view)).into_response());
    }
    // Who only comes upon what another has asked for, by its key, does not end it by going; but whoever asked may be
    // back after a crash.
    let ours = view.created_at >= began || named && view.spec.asked_by == by;
    let reference = view.session.clone();
    // Nothing was heard of it before, whatever the head says.
    let told = answer::stream(api.clone(), view, &HeaderMap::new()).await?;
    Ok(if tied && ours { held(&api, reference, told) } else { told })
}

/// An answer with which a prompt ends, if whoever hears it goes before it is over.
pub(super) fn held(api: &Api, reference: String, told: Response) -> Response {
    let tether = hold(api, reference);
    told.map(|told| Content::from_stream(Held { told: told.into_data_stream(), _tether: tether }))
}

/// Ties the prompt to what is returned: it ends if that is dropped before it is over.
fn hold(api: &Api, reference: String) -> oneshot::Sender<()> {
    let (holds, tether) = oneshot::channel();
    let api = api.clone();
    tokio::spawn(async move {
        let wait = |answer| Command::Wait { reference, tether: Some(tether), answer };
        // What becomes of it is told by the stream.
        api.ask(wait).await.ok();
    });
    holds
}

/// A stream that somebody hears; if they go, the prompt does.
struct Held {
    told: BodyDataStream,
    _tether: oneshot::Sender<()>,
}

impl Stream for Held {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.told).poll_next(context)
    }
}

//! A prompt: asked, and answered as it comes to whoever wants to hear it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body as Content, BodyDataStream, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Error, Json};
use futures_core::Stream;
use kennel_core::api::AskRequest;
use tokio::sync::oneshot;

use super::body::Body;
use super::sessions::{begin, take_key};
use super::{Api, answer, sse};
use crate::message::{Command, Until};
use crate::refused::Refused;

pub(super) async fn ask(
    State(api): State<Api>,
    headers: HeaderMap,
    Body(mut request): Body<AskRequest>,
) -> Result<Response, Refused> {
    take_key(&headers, &mut request.key)?;
    let streamed = sse::is_accepted(&headers);
    // Who does not listen is not missed.
    let tied = streamed && !request.detach;
    request.detach = !tied;
    let request = request.into_session().map_err(Refused::invalid)?;
    let view = begin(&api, request, Until::Accepted, None).await?;
    if !streamed {
        return Ok((StatusCode::CREATED, Json(view)).into_response());
    }
    let tether = tied.then(|| hold(&api, view.session.clone()));
    let told = answer::stream(api, view, &headers).await?;
    Ok(told
        .map(|told| Content::from_stream(Held { told: told.into_data_stream(), _tether: tether })))
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
    _tether: Option<oneshot::Sender<()>>,
}

impl Stream for Held {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.told).poll_next(context)
    }
}

//! Responses of JSON objects, one on each line.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Serialize;

struct LineStream<F>(F);

impl<F: FnMut(&mut Context<'_>) -> Poll<Option<Bytes>> + Unpin> Stream for LineStream<F> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        (self.0)(context).map(|line| line.map(Ok))
    }
}

/// A response of the lines that `poll` returns, each with its line feed.
pub(crate) fn respond(
    poll: impl FnMut(&mut Context<'_>) -> Poll<Option<Bytes>> + Send + Unpin + 'static,
) -> Response {
    let kind = [(CONTENT_TYPE, "application/x-ndjson")];
    (kind, Body::from_stream(LineStream(poll))).into_response()
}

/// One line.
pub(crate) fn line(value: &impl Serialize) -> Option<Bytes> {
    match serde_json::to_vec(value) {
        Ok(mut line) => {
            line.push(b'\n');
            Some(line.into())
        }
        Err(error) => {
            tracing::error!(%error, "can't encode a line as JSON");
            None
        }
    }
}

//! Answers of many lines, each a JSON object, sent as they come.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Serialize;

/// Where lines come from.
pub(super) trait Source: Send + Unpin + 'static {
    /// The next one, in whole with its end; none when there are no more.
    fn poll_line(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

struct Lines<S>(S);

impl<S: Source> Stream for Lines<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().0.poll_line(context).map(|line| line.map(Ok))
    }
}

/// A response of lines.
pub(super) fn respond(source: impl Source) -> Response {
    let kind = [(CONTENT_TYPE, "application/x-ndjson")];
    (kind, Body::from_stream(Lines(source))).into_response()
}

/// One line.
pub(super) fn line(value: &impl Serialize) -> Option<Bytes> {
    match serde_json::to_vec(value) {
        Ok(mut line) => {
            line.push(b'\n');
            Some(line.into())
        }
        Err(error) => {
            tracing::error!(%error, "a line can't be written as JSON");
            None
        }
    }
}

impl Source for tokio::sync::mpsc::Receiver<Bytes> {
    fn poll_line(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.poll_recv(context)
    }
}

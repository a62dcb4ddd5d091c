//! Common parts of streamed responses: their formats, how they resume, and limits on slow clients.
//!
//! Bodies are produced chunk by chunk as the client reads them: nothing is read ahead or buffered for a slow client.

pub(crate) mod limits;
pub(crate) mod resume_position;
pub(crate) mod sse;
pub(crate) mod write_timeout;
pub(crate) mod ws_events;

use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::sync::mpsc::UnboundedReceiver;

/// The media type of JSON objects, one on each line.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// Whether there is more to read from a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum ReadState {
    More,
    /// There is no more for now.
    CaughtUp,
    /// Everything that was requested is read.
    Finished,
}

/// Produces the chunks of a body. It is dropped when the client disconnects.
pub(crate) trait ChunkSource: Send + Sized + 'static {
    /// Returns the next chunk, or `None` at the end. After an error the connection is closed, so that no client mistakes a
    /// part of the body for the whole.
    fn next(&mut self) -> impl Future<Output = Option<io::Result<Bytes>>> + Send;
}

/// Each value is one line of JSON.
impl<T: Serialize + Send + 'static> ChunkSource for UnboundedReceiver<T> {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let value = self.recv().await?;
        let mut line = Vec::new();
        Some(append_line(&mut line, &value).map(|()| line.into()))
    }
}

pub(crate) fn respond(media_type: &'static str, source: impl ChunkSource) -> Response {
    ([(CONTENT_TYPE, media_type)], Body::from_stream(chunks(source))).into_response()
}

fn chunks(source: impl ChunkSource) -> impl Stream<Item = io::Result<Bytes>> {
    unfold(Some(source), async |source| {
        let mut source = source?;
        let chunk = source.next().await?;
        let rest = chunk.is_ok().then_some(source);
        Some((chunk, rest))
    })
}

pub(crate) fn append_line(to: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *to, value)?;
    to.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    struct Count(u8);

    impl ChunkSource for Count {
        async fn next(&mut self) -> Option<io::Result<Bytes>> {
            self.0 += 1;
            match self.0 {
                3 => Some(Err(io::Error::other("no more"))),
                number => Some(Ok(Bytes::from(vec![number]))),
            }
        }
    }

    #[tokio::test]
    async fn chunks_arrive_in_order_and_none_after_an_error() {
        let mut chunks = Box::pin(chunks(Count(0)));
        assert_eq!(chunks.next().await.unwrap().unwrap(), vec![1]);
        assert_eq!(chunks.next().await.unwrap().unwrap(), vec![2]);
        assert!(chunks.next().await.unwrap().is_err());
        assert!(chunks.next().await.is_none());
    }
}

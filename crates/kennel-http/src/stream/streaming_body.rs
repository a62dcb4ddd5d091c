//! Long bodies, produced chunk by chunk as the client reads them: nothing is read ahead or buffered for a slow client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use futures_core::Stream;

/// Produces the chunks of a body. It is dropped when the client disconnects.
pub(crate) trait ChunkSource: Send + Sized + 'static {
    /// The next chunk; none at the end. After an error the connection is closed, so that no client takes the part that
    /// it has for the whole.
    fn next(&mut self) -> impl Future<Output = Option<io::Result<Bytes>>> + Send;
}

/// A body of these chunks.
pub(crate) fn body(source: impl ChunkSource) -> Body {
    Body::from_stream(StreamingBody(Some(next_chunk(source))))
}

type NextChunk<S> = Pin<Box<dyn Future<Output = Option<(S, io::Result<Bytes>)>> + Send>>;

struct StreamingBody<S>(Option<NextChunk<S>>);

fn next_chunk<S: ChunkSource>(mut source: S) -> NextChunk<S> {
    Box::pin(async move {
        let chunk = source.next().await?;
        Some((source, chunk))
    })
}

impl<S: ChunkSource> Stream for StreamingBody<S> {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(pending) = &mut this.0 else { return Poll::Ready(None) };
        let (source, chunk) = ready!(pending.as_mut().poll(context)).unzip();
        this.0 = source.filter(|_| matches!(chunk, Some(Ok(_)))).map(next_chunk);
        Poll::Ready(chunk)
    }
}

#[cfg(test)]
mod tests {
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
    async fn chunks_come_in_order_and_nothing_after_an_error() {
        let mut body = Box::pin(StreamingBody(Some(next_chunk(Count(0)))));
        let mut next = async || std::future::poll_fn(|cx| body.as_mut().poll_next(cx)).await;
        assert_eq!(next().await.unwrap().unwrap(), vec![1]);
        assert_eq!(next().await.unwrap().unwrap(), vec![2]);
        assert!(next().await.unwrap().is_err());
        assert!(next().await.is_none());
    }
}

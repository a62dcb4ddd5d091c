//! Long answers, made piece by piece as the client takes them: nothing is read ahead, and nothing is buffered for a
//! client that is slow.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use futures_core::Stream;

/// Where the pieces of an answer come from. It is dropped when the client goes.
pub(super) trait Pieces: Send + Sized + 'static {
    /// The next one; none when there are no more. After an error the connection is closed, so that nobody takes what
    /// they have for the whole.
    fn next(&mut self) -> impl Future<Output = Option<io::Result<Bytes>>> + Send;
}

/// A body of pieces.
pub(super) fn body(pieces: impl Pieces) -> Body {
    Body::from_stream(Pull(Some(step(pieces))))
}

type Step<P> = Pin<Box<dyn Future<Output = Option<(P, io::Result<Bytes>)>> + Send>>;

struct Pull<P>(Option<Step<P>>);

fn step<P: Pieces>(mut pieces: P) -> Step<P> {
    Box::pin(async move {
        let piece = pieces.next().await?;
        Some((pieces, piece))
    })
}

impl<P: Pieces> Stream for Pull<P> {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(step_under_way) = &mut this.0 else { return Poll::Ready(None) };
        let came = ready!(step_under_way.as_mut().poll(context));
        let (rest, piece) = came.unzip();
        this.0 = rest.filter(|_| matches!(piece, Some(Ok(_)))).map(step);
        Poll::Ready(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count(u8);

    impl Pieces for Count {
        async fn next(&mut self) -> Option<io::Result<Bytes>> {
            self.0 += 1;
            match self.0 {
                3 => Some(Err(io::Error::other("no more"))),
                number => Some(Ok(Bytes::from(vec![number]))),
            }
        }
    }

    #[tokio::test]
    async fn pieces_come_in_order_and_nothing_after_an_error() {
        let mut pull = Box::pin(Pull(Some(step(Count(0)))));
        let mut next = async || std::future::poll_fn(|cx| pull.as_mut().poll_next(cx)).await;
        assert_eq!(next().await.unwrap().unwrap(), vec![1]);
        assert_eq!(next().await.unwrap().unwrap(), vec![2]);
        assert!(next().await.unwrap().is_err());
        assert!(next().await.is_none());
    }
}

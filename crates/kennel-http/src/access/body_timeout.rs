//! Request bodies with a deadline, however slowly they arrive.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

/// How long a body may take.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

struct TimedBody {
    body: BodyDataStream,
    end: Pin<Box<Sleep>>,
}

impl Stream for TimedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.end.as_mut().poll(context).is_ready() {
            let late = io::Error::new(io::ErrorKind::TimedOut, "timed out while reading the body");
            return Poll::Ready(Some(Err(axum::Error::new(late))));
        }
        Pin::new(&mut self.body).poll_next(context)
    }
}

/// Fails the body if it takes longer than this.
pub(super) fn within(limit: Duration, body: Body) -> Body {
    Body::from_stream(TimedBody { body: body.into_data_stream(), end: Box::pin(sleep(limit)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Never;

    impl Stream for Never {
        type Item = Result<Bytes, io::Error>;

        fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn fails_a_late_body_and_passes_others_unchanged() {
        let never = within(Duration::from_millis(5), Body::from_stream(Never));
        assert!(axum::body::to_bytes(never, 100).await.is_err());
        let there = within(LIMIT, Body::from("all of it"));
        assert_eq!(axum::body::to_bytes(there, 100).await.unwrap(), "all of it");
    }
}

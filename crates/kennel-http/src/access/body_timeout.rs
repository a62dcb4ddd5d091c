//! Request bodies with a deadline, however slowly they arrive.

use std::io;
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use tokio::time::{Instant, timeout_at};

/// How long a body may take.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// Fails the body if it takes longer than this.
pub(super) fn within(limit: Duration, body: Body) -> Body {
    let deadline = Instant::now() + limit;
    Body::from_stream(unfold(body.into_data_stream(), move |mut body| async move {
        let chunk = timeout_at(deadline, body.next()).await.unwrap_or_else(|_| {
            let late = io::Error::new(io::ErrorKind::TimedOut, "timed out while reading the body");
            Some(Err(axum::Error::new(late)))
        });
        Some((chunk?, body))
    }))
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use futures_util::stream::pending;

    use super::*;

    #[tokio::test]
    async fn fails_a_late_body_and_passes_others_unchanged() {
        let never =
            within(Duration::from_millis(5), Body::from_stream(pending::<io::Result<Bytes>>()));
        assert!(axum::body::to_bytes(never, 100).await.is_err());
        let there = within(LIMIT, Body::from("all of it"));
        assert_eq!(axum::body::to_bytes(there, 100).await.unwrap(), "all of it");
    }
}

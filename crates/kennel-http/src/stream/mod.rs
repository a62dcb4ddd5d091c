//! What streamed responses share: their formats, how they resume, and limits on slow clients.

pub(crate) mod limits;
pub(crate) mod ndjson;
pub(crate) mod resume_position;
pub(crate) mod sse;
pub(crate) mod streaming_body;
pub(crate) mod write_timeout;
pub(crate) mod ws_events;

/// Whether there is more to read from a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum ReadState {
    /// There is more.
    More,
    /// There is no more for now.
    CaughtUp,
    /// All that was asked for is read.
    Finished,
}

//! The part of the output that a client requests, and its format.

use axum::http::HeaderMap;
use kennel_daemon::ApiError;
use kennel_keeper::journal::STDERR;
use serde::Deserialize;

use crate::stream::{NDJSON, sse};

/// Selects a part of the output.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OutputQuery {
    pub(super) stream: OutputStreams,
    /// The offset of the first byte.
    pub(super) from: Option<u64>,
    /// The offset after the last byte.
    pub(super) to: Option<u64>,
    /// Only this many lines from the end.
    pub(super) tail: Option<usize>,
    /// Whether the response continues until the session ends.
    pub(super) follow: bool,
    pub(super) format: Option<OutputEncoding>,
}

/// The streams to return. A terminal has only one, which counts as standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum OutputStreams {
    #[default]
    Both,
    Stdout,
    Stderr,
}

impl OutputStreams {
    pub(super) fn include(self, stream: u8) -> bool {
        match self {
            Self::Both => true,
            Self::Stdout => stream != STDERR,
            Self::Stderr => stream == STDERR,
        }
    }
}

/// The format of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum OutputEncoding {
    /// The bytes, and nothing else.
    Raw,
    /// A JSON object on each line.
    Ndjson,
    /// Server-sent events.
    Sse,
}

impl OutputEncoding {
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Raw => "application/octet-stream",
            Self::Ndjson => NDJSON,
            Self::Sse => sse::EVENT_STREAM,
        }
    }
}

impl OutputQuery {
    /// Returns the format in the query, or else one that the client accepts.
    pub(super) fn format(&self, headers: &HeaderMap) -> OutputEncoding {
        let accepted = |format: &OutputEncoding| sse::accepts(headers, format.media_type());
        let known = [OutputEncoding::Sse, OutputEncoding::Ndjson, OutputEncoding::Raw];
        self.format.or_else(|| known.into_iter().find(accepted)).unwrap_or(OutputEncoding::Ndjson)
    }

    pub(super) fn check(&self) -> Result<(), ApiError> {
        match self.to.is_some_and(|to| to < self.from.unwrap_or(0)) {
            true => Err(ApiError::invalid("invalid range: `to` is before `from`")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::{ACCEPT, HeaderValue};
    use kennel_keeper::journal::{STDOUT, TERMINAL};

    use super::*;

    #[test]
    fn a_format_in_the_query_overrides_the_accepted_ones() {
        let mut headers = HeaderMap::new();
        let mut query = OutputQuery::default();
        assert_eq!(query.format(&headers), OutputEncoding::Ndjson);
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        assert_eq!(query.format(&headers), OutputEncoding::Ndjson);
        headers.insert(ACCEPT, HeaderValue::from_static("application/octet-stream"));
        assert_eq!(query.format(&headers), OutputEncoding::Raw);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        assert_eq!(query.format(&headers), OutputEncoding::Sse);
        query.format = Some(OutputEncoding::Raw);
        assert_eq!(query.format(&headers), OutputEncoding::Raw);
    }

    #[test]
    fn a_terminal_counts_as_standard_output() {
        for (streams, shown) in [
            (OutputStreams::Both, [true, true, true]),
            (OutputStreams::Stdout, [true, true, false]),
            (OutputStreams::Stderr, [false, false, true]),
        ] {
            assert_eq!([TERMINAL, STDOUT, STDERR].map(|stream| streams.include(stream)), shown);
        }
    }

    #[test]
    fn refuses_a_range_that_ends_before_it_begins() {
        let query = |from, to| OutputQuery { from, to, ..OutputQuery::default() };
        assert!(query(Some(5), Some(5)).check().is_ok());
        assert!(query(None, Some(0)).check().is_ok());
        assert!(query(Some(5), Some(4)).check().is_err());
    }
}

//! Which part of the output is wanted, and how it is to be written.

use axum::http::HeaderMap;
use kennel_keeper::journal::STDERR;
use serde::Deserialize;

use super::super::sse;
use crate::error::ApiError;

/// What is asked for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Wish {
    #[serde(default)]
    pub(super) stream: Streams,
    /// The first byte.
    pub(super) from: Option<u64>,
    /// The byte after the last.
    pub(super) to: Option<u64>,
    /// Only the last lines.
    pub(super) tail: Option<usize>,
    #[serde(default)]
    pub(super) follow: bool,
    pub(super) format: Option<Form>,
}

/// Which streams. A terminal has one, which counts as standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Streams {
    #[default]
    Both,
    Stdout,
    Stderr,
}

impl Streams {
    pub(super) fn has(self, stream: u8) -> bool {
        match self {
            Self::Both => true,
            Self::Stdout => stream != STDERR,
            Self::Stderr => stream == STDERR,
        }
    }
}

/// How output is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// The bytes, and nothing else.
    Raw,
    /// A JSON object a line.
    Ndjson,
    /// Server-sent events.
    Sse,
}

impl Form {
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Raw => "application/octet-stream",
            Self::Ndjson => "application/x-ndjson",
            Self::Sse => "text/event-stream",
        }
    }
}

impl Wish {
    /// What the client says it wants, or would take.
    pub(super) fn form(&self, headers: &HeaderMap) -> Form {
        let accepted = |form: &Form| sse::accepts(headers, form.media_type());
        let known = [Form::Sse, Form::Ndjson, Form::Raw];
        self.format.or_else(|| known.into_iter().find(accepted)).unwrap_or(Form::Ndjson)
    }

    /// Whether it makes sense.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        let backwards = self.to.is_some_and(|to| to < self.from.unwrap_or(0));
        match backwards {
            true => Err(ApiError::invalid("`to` is before `from`")),
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
    fn what_is_asked_for_goes_before_what_is_taken() {
        let mut headers = HeaderMap::new();
        let mut wish = Wish::default();
        assert_eq!(wish.form(&headers), Form::Ndjson);
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        assert_eq!(wish.form(&headers), Form::Ndjson);
        headers.insert(ACCEPT, HeaderValue::from_static("application/octet-stream"));
        assert_eq!(wish.form(&headers), Form::Raw);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        assert_eq!(wish.form(&headers), Form::Sse);
        wish.format = Some(Form::Raw);
        assert_eq!(wish.form(&headers), Form::Raw);
    }

    #[test]
    fn a_terminal_counts_as_standard_output() {
        for (streams, shown) in [
            (Streams::Both, [true, true, true]),
            (Streams::Stdout, [true, true, false]),
            (Streams::Stderr, [false, false, true]),
        ] {
            assert_eq!([TERMINAL, STDOUT, STDERR].map(|stream| streams.has(stream)), shown);
        }
    }

    #[test]
    fn a_range_that_ends_before_it_begins_is_refused() {
        let wish = |from, to| Wish { from, to, ..Wish::default() };
        assert!(wish(Some(5), Some(5)).check().is_ok());
        assert!(wish(None, Some(0)).check().is_ok());
        assert!(wish(Some(5), Some(4)).check().is_err());
    }
}

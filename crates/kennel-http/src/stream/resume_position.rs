//! Ids of streamed events: a client sends back the last one it received (`Last-Event-ID`), and the stream resumes
//! there without loss or repetition.

use std::fmt;
use std::str::FromStr;

use axum::http::HeaderMap;
use kennel_daemon::{ApiError, DaemonHandle, exact_reference};
use kennel_types::SessionView;

use super::sse;

/// A position in the stream of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResumePosition<P> {
    /// None: the launch that the request names.
    pub(crate) launch: Option<String>,
    pub(crate) point: P,
}

/// The id is malformed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid Last-Event-ID: expected the id of an event of this stream")]
pub(crate) struct ParsePositionError;

impl<P: fmt::Display> fmt::Display for ResumePosition<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(launch) = &self.launch {
            write!(f, "{launch}:")?;
        }
        self.point.fmt(f)
    }
}

impl<P: FromStr<Err = ParsePositionError>> FromStr for ResumePosition<P> {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, ParsePositionError> {
        let (launch, point) = match text.split_once(':') {
            Some(("", _)) => return Err(ParsePositionError),
            Some((launch, point)) => (Some(launch.to_owned()), point),
            None => (None, text),
        };
        Ok(Self { launch, point: point.parse()? })
    }
}

impl<P: FromStr<Err = ParsePositionError>> ResumePosition<P> {
    /// The position that a client sends back, with the launch that it was reading: the one in `view`, or another launch
    /// of the same session.
    pub(crate) async fn resolve(
        daemon: &DaemonHandle,
        view: SessionView,
        headers: &HeaderMap,
    ) -> Result<(SessionView, Option<P>), ApiError> {
        let Some(id) = sse::last_id(headers) else { return Ok((view, None)) };
        let Self { launch, point } = id.parse().map_err(ApiError::invalid)?;
        let Some(launch) = launch.filter(|launch| *launch != view.id) else {
            return Ok((view, Some(point)));
        };
        let former = daemon.show(exact_reference(&launch)).await?;
        if former.session != view.session {
            return Err(ApiError::invalid("this Last-Event-ID belongs to another session"));
        }
        Ok((former, Some(point)))
    }
}

/// A decimal number without a sign.
pub(crate) fn parse_digits<T: FromStr>(text: &str) -> Result<T, ParsePositionError> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().map_err(|_| ParsePositionError),
        false => Err(ParsePositionError),
    }
}

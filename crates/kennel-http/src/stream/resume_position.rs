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
    /// `None`: the launch in the request.
    pub(crate) launch: Option<String>,
    pub(crate) point: P,
}

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
    /// Returns the position that a client sends back, and the launch that it was reading: the one in `view`, or another
    /// launch of the same session.
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
        let resumed = daemon.show(exact_reference(&launch)).await?;
        if resumed.session != view.session {
            return Err(ApiError::invalid("this Last-Event-ID belongs to another session"));
        }
        Ok((resumed, Some(point)))
    }
}

/// Parses a decimal number without a sign.
pub(crate) fn parse_digits<T: FromStr>(text: &str) -> Result<T, ParsePositionError> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().map_err(|_| ParsePositionError),
        false => Err(ParsePositionError),
    }
}

/// How far a client has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputPoint {
    /// Up to this byte.
    Offset(u64),
    /// Up to this byte, including the gap at this position, which may have no length.
    AfterGap(u64),
    End,
}

impl fmt::Display for OutputPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, "{offset}"),
            Self::AfterGap(offset) => write!(f, "{offset}+"),
            Self::End => f.write_str("end"),
        }
    }
}

impl FromStr for OutputPoint {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, ParsePositionError> {
        match text.strip_suffix('+') {
            _ if text == "end" => Ok(Self::End),
            Some(offset) => parse_digits(offset).map(Self::AfterGap),
            None => parse_digits(text).map(Self::Offset),
        }
    }
}

/// An event of a prompt. The same output always produces the same events. So an event of the agent is identified by the
/// offset in the output at which it was produced, and by its number among the events at this offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AnswerPoint {
    Begun,
    Event {
        offset: u64,
        number: u32,
    },
    /// The verdict, which is the last event.
    Verdict,
}

impl fmt::Display for AnswerPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun => f.write_str("begun"),
            Self::Event { offset, number } => write!(f, "{offset}:{number}"),
            Self::Verdict => f.write_str("verdict"),
        }
    }
}

impl FromStr for AnswerPoint {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, ParsePositionError> {
        match text {
            "begun" => Ok(Self::Begun),
            "verdict" => Ok(Self::Verdict),
            _ => {
                let (offset, number) = text.split_once(':').ok_or(ParsePositionError)?;
                Ok(Self::Event { offset: parse_digits(offset)?, number: parse_digits(number)? })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_output_survive_the_round_trip_and_nothing_else_is_accepted() {
        type Position = ResumePosition<OutputPoint>;
        for text in ["0", "12+", "end", "abc_2:7", "abc:9+", "abc:end"] {
            assert_eq!(text.parse::<Position>().unwrap().to_string(), text);
        }
        for text in ["", ":", ":3", "a:", "a:b", "-1", "+", "+1", "1.5", "99999999999999999999"] {
            assert_eq!(text.parse::<Position>(), Err(ParsePositionError), "{text:?}");
        }
    }

    #[test]
    fn positions_in_answers_survive_the_round_trip_and_nothing_else_is_accepted() {
        type Position = ResumePosition<AnswerPoint>;
        for text in ["a:begun", "a_2:0:0", "a:17:3", "a:verdict"] {
            assert_eq!(text.parse::<Position>().unwrap().to_string(), text);
        }
        for text in ["", "a", ":begun", "a:", "a:1", "a:1:", "a:-1:2", "a:1:2:3", "a:x:1"] {
            assert_eq!(text.parse::<Position>(), Err(ParsePositionError), "{text:?}");
        }
    }

    #[test]
    fn positions_are_in_the_order_of_the_events() {
        let event = |offset, number| AnswerPoint::Event { offset, number };
        let points =
            [AnswerPoint::Begun, event(0, 0), event(0, 1), event(5, 0), AnswerPoint::Verdict];
        assert!(points.is_sorted());
    }
}

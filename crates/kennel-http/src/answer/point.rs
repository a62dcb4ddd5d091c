//! Positions in the events of a prompt.
//!
//! The same output always produces the same events, so an event is identified by the offset in the output at which it
//! was produced, and by the number of events that were produced there before it.

use std::fmt;
use std::str::FromStr;

use crate::stream::resume_position::{ParsePositionError, parse_digits};

/// One of a launch's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AnswerPoint {
    /// The attempt has begun.
    Begun,
    /// An event of the agent.
    Event { offset: u64, number: u32 },
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
    use crate::stream::resume_position::ResumePosition;

    #[test]
    fn positions_survive_the_round_trip_and_nothing_else_is_accepted() {
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

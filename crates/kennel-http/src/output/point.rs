//! Positions in the output of a launch.

use std::fmt;
use std::str::FromStr;

use crate::stream::resume_position::{ParsePositionError, parse_digits};

/// How far a client has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputPoint {
    /// Up to this byte.
    Offset(u64),
    /// Up to this byte, with the gap there: it has a position and may have no length.
    AfterGap(u64),
    /// All of it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::resume_position::ResumePosition;

    #[test]
    fn positions_survive_the_round_trip_and_nothing_else_is_accepted() {
        type Position = ResumePosition<OutputPoint>;
        for text in ["0", "12+", "end", "abc_2:7", "abc:9+", "abc:end"] {
            assert_eq!(text.parse::<Position>().unwrap().to_string(), text);
        }
        for text in ["", ":", ":3", "a:", "a:b", "-1", "+", "+1", "1.5", "99999999999999999999"] {
            assert_eq!(text.parse::<Position>(), Err(ParsePositionError), "{text:?}");
        }
    }
}

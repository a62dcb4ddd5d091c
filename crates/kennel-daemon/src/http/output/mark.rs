//! How far somebody has read: what they give back to go on from there, without loss and without a repetition.

use std::fmt;
use std::str::FromStr;

/// A place in the output of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// Which launch; none: the one that is asked for.
    pub(super) launch: Option<String>,
    pub(super) place: Place,
}

/// Where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before this byte.
    Offset(u64),
    /// The same, and what is missing there was told: it has a place and maybe no length.
    AfterGap(u64),
    /// All was told.
    End,
}

/// It is no such thing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no id of an event in the output of a session")]
pub(super) struct NoMark;

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(launch) = &self.launch {
            write!(f, "{launch}:")?;
        }
        match self.place {
            Place::Offset(offset) => write!(f, "{offset}"),
            Place::AfterGap(offset) => write!(f, "{offset}+"),
            Place::End => f.write_str("end"),
        }
    }
}

impl FromStr for Mark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Self, NoMark> {
        let (launch, place) = match text.rsplit_once(':') {
            Some(("", _)) => return Err(NoMark),
            Some((launch, place)) => (Some(launch.to_owned()), place),
            None => (None, text),
        };
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse().map_err(|_| NoMark),
            false => Err(NoMark),
        };
        let place = match place.strip_suffix('+') {
            _ if place == "end" => Place::End,
            Some(offset) => Place::AfterGap(number(offset)?),
            None => Place::Offset(number(place)?),
        };
        Ok(Self { launch, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_the_round_trip() {
        for text in ["0", "12+", "end", "abc_2:7", "abc:9+", "abc:end"] {
            assert_eq!(text.parse::<Mark>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", ":", ":3", "a:", "a:b", "-1", "+", "+1", "1.5", "99999999999999999999"] {
            assert_eq!(text.parse::<Mark>(), Err(NoMark), "{text:?}");
        }
    }
}

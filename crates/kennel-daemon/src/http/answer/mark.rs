//! How far somebody has heard what an agent does.
//!
//! The same output makes the same events, so that an event is known by the place in the output after which it was
//! made, and by how many others were made there before it.

use std::fmt;
use std::str::FromStr;

/// An event of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) launch: String,
    pub(super) place: Place,
}

/// Which of a launch's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// That it has begun.
    Begun,
    /// The one with this number, of those that were made when the output was read up to this offset.
    Event { offset: u64, number: u32 },
    /// The last of all.
    Verdict,
}

/// It is no such thing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no id of an event of a prompt")]
pub(super) struct NoMark;

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Begun => write!(f, "{}:begun", self.launch),
            Place::Event { offset, number } => write!(f, "{}:{offset}:{number}", self.launch),
            Place::Verdict => write!(f, "{}:verdict", self.launch),
        }
    }
}

impl FromStr for Mark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Self, NoMark> {
        let (launch, rest) = text.split_once(':').ok_or(NoMark)?;
        if launch.is_empty() {
            return Err(NoMark);
        }
        let place = match rest {
            "begun" => Place::Begun,
            "verdict" => Place::Verdict,
            _ => {
                let (offset, number) = rest.split_once(':').ok_or(NoMark)?;
                let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                if !digits(offset) || !digits(number) {
                    return Err(NoMark);
                }
                let offset = offset.parse().map_err(|_| NoMark)?;
                Place::Event { offset, number: number.parse().map_err(|_| NoMark)? }
            }
        };
        Ok(Self { launch: launch.to_owned(), place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_the_round_trip() {
        for text in ["a:begun", "a_2:0:0", "a:17:3", "a:verdict"] {
            assert_eq!(text.parse::<Mark>().unwrap().to_string(), text);
        }
        for text in ["", "a", ":begun", "a:", "a:1", "a:1:", "a:-1:2", "a:1:2:3", "a:x:1"] {
            assert_eq!(text.parse::<Mark>(), Err(NoMark), "{text:?}");
        }
    }

    #[test]
    fn marks_are_in_the_order_of_the_events() {
        let event = |offset, number| Place::Event { offset, number };
        let places = [Place::Begun, event(0, 0), event(0, 1), event(5, 0), Place::Verdict];
        assert!(places.is_sorted());
    }
}

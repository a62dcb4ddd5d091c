//! Ids of sessions and launches.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The characters of an id: digits and letters that are hard to confuse, in the order of their values.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Milliseconds from 1970 to 2026: ids count from here, so that they stay short.
const EPOCH_MS: u64 = 1_767_225_600_000;
const TIME_CHARACTERS: u32 = 8;
const RANDOM_CHARACTERS: u32 = 4;

/// The id of a session: 12 characters, of which the first 8 are the time. Later ones sort later.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// Text that is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no session id: that is {LENGTH} digits and lower-case letters", LENGTH = TIME_CHARACTERS + RANDOM_CHARACTERS)]
pub struct ParseIdError(String);

impl SessionId {
    /// Takes an id from a record.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse(text: &str) -> Result<Self, ParseIdError> {
        let length = (TIME_CHARACTERS + RANDOM_CHARACTERS) as usize;
        if text.len() == length && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseIdError(text.to_owned()))
        }
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionId {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes ids that grow, whatever the clock does.
#[derive(Debug, Default)]
pub struct IdMaker {
    last: u64,
}

impl IdMaker {
    /// Goes on after this one.
    pub fn after(&mut self, id: &SessionId) {
        self.last = self.last.max(value_of(id));
    }

    /// The next id, at this time (milliseconds since 1970), with some random bits.
    #[must_use]
    pub fn next(&mut self, now_ms: u64, random: u32) -> SessionId {
        let bits = RANDOM_CHARACTERS * 5;
        let time = now_ms.saturating_sub(EPOCH_MS) & ((1 << (TIME_CHARACTERS * 5)) - 1);
        let value = (time << bits) | (u64::from(random) & ((1 << bits) - 1));
        self.last = value.max(self.last + 1);
        SessionId(text_of(self.last))
    }
}

fn text_of(value: u64) -> String {
    let characters = TIME_CHARACTERS + RANDOM_CHARACTERS;
    (0..characters)
        .rev()
        .map(|place| char::from(ALPHABET[(value >> (place * 5)) as usize & 31]))
        .collect()
}

fn value_of(id: &SessionId) -> u64 {
    let digit = |byte: u8| ALPHABET.iter().position(|other| *other == byte).unwrap_or(0) as u64;
    id.0.bytes().fold(0, |value, byte| (value << 5) | digit(byte))
}

/// The secret of one launch: 128 random bits, in hex.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaunchToken(String);

impl LaunchToken {
    /// From random bits.
    #[must_use]
    pub fn new(random: u128) -> Self {
        Self(format!("{random:032x}"))
    }

    /// As text, for those who may know it.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LaunchToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LaunchToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_even_if_the_clock_goes_back() {
        let mut maker = IdMaker::default();
        let now = EPOCH_MS + 1_000_000_000;
        let ids = [now, now, now + 1, now - 5000, now + 2].map(|now| maker.next(now, 12345));
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        let mut later = IdMaker::default();
        later.after(&ids[4]);
        assert!(later.next(now - 9999, 0) > ids[4]);
    }

    #[test]
    fn an_id_survives_the_round_trip_and_other_text_is_refused() {
        let id = IdMaker::default().next(EPOCH_MS + 77, 99);
        assert_eq!(SessionId::parse(id.as_str()), Ok(id));
        for text in ["", "abc", "ABCDEFGHJKMN", "../../../../x", "0000000000il"] {
            assert!(SessionId::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_does_not_show_itself() {
        let token = LaunchToken::new(7);
        assert_eq!(format!("{token:?}"), "LaunchToken(…)");
        assert_eq!(token.secret().len(), 32);
    }
}

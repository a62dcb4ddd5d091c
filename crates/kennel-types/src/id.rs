//! Ids of sessions and launches.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The digits of an id, in the order of their values. Characters that are easy to confuse are left
/// out.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Milliseconds from 1970 to 2026. Ids count from here, which keeps them short.
const EPOCH_MS: u64 = 1_767_225_600_000;
const TIME_CHARACTERS: u32 = 8;
const RANDOM_CHARACTERS: u32 = 4;

/// Separates a session id from the number of a later launch. Valid in the name of a pen.
const ATTEMPT_MARK: char = '_';

/// The id of a launch: 12 characters, of which the first 8 encode the time. The first launch has
/// the id of its session; the nth launch has `_n` appended. Ids sort by time, and the launches of a
/// session stay together, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = "^[0-9a-hjkmnp-tv-z]{12}(_([2-9]|[1-9][0-9]{1,8}))?$")))]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// A text that is not a session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid session id {0:?}: expected {LENGTH} digits and lower-case letters, and _ with a number from 2 \
     for a later launch"
)]
pub struct ParseIdError(String);

const LENGTH: usize = (TIME_CHARACTERS + RANDOM_CHARACTERS) as usize;

impl SessionId {
    /// Parses an id.
    ///
    /// # Errors
    /// The text is not an id.
    pub fn parse(text: &str) -> Result<Self, ParseIdError> {
        let (base, attempt) = text.split_once(ATTEMPT_MARK).unzip();
        let base = base.unwrap_or(text);
        let valid = base.len() == LENGTH
            && base.bytes().all(|byte| ALPHABET.contains(&byte))
            && attempt.is_none_or(|attempt| parse_attempt(attempt).is_some_and(|it| it > 1));
        if valid { Ok(Self(text.to_owned())) } else { Err(ParseIdError(text.to_owned())) }
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of this launch: 1 for the first.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.split_once(ATTEMPT_MARK).and_then(|(_, number)| parse_attempt(number)).unwrap_or(1)
    }

    /// Returns the id of the session, which is that of its first launch.
    #[must_use]
    pub fn base(&self) -> Self {
        Self(self.base_str().to_owned())
    }

    /// Returns the id of the following launch.
    #[must_use]
    pub fn next_attempt(&self) -> Self {
        let number = self.attempt().saturating_add(1);
        Self(format!("{}{ATTEMPT_MARK}{number}", self.base_str()))
    }

    /// Returns whether both are launches of the same session.
    #[must_use]
    pub fn is_same_session(&self, other: &Self) -> bool {
        self.base_str() == other.base_str()
    }

    /// Returns the id of the session as text.
    #[must_use]
    pub fn base_str(&self) -> &str {
        self.0.get(..LENGTH).unwrap_or(&self.0)
    }
}

/// Returns whether a text has the form of a session or launch id, so that it can't be a name.
#[must_use]
pub fn looks_like_id(text: &str) -> bool {
    SessionId::parse(text).is_ok() || parse_first_launch(text).is_some()
}

/// Parses a number without a sign or leading zeros, so that a launch has only one id.
fn parse_attempt(text: &str) -> Option<u32> {
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

/// Parses `ID_1`, which means the first launch even if later ones exist.
#[must_use]
pub fn parse_first_launch(text: &str) -> Option<SessionId> {
    SessionId::parse(text.strip_suffix("_1")?).ok().filter(|id| id.attempt() == 1)
}

impl Ord for SessionId {
    fn cmp(&self, other: &Self) -> Ordering {
        // The fast path: each lookup in the table of sessions compares a dozen ids.
        if self.0.len() == LENGTH && other.0.len() == LENGTH {
            return self.0.cmp(&other.0);
        }
        let by_session = self.base_str().cmp(other.base_str());
        by_session.then_with(|| self.attempt().cmp(&other.attempt()))
    }
}

impl PartialOrd for SessionId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
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

/// Makes ids that always increase, even if the clock goes back.
#[derive(Debug, Default)]
pub struct IdMaker {
    last: u64,
}

impl IdMaker {
    /// Continues after this id.
    pub fn after(&mut self, id: &SessionId) {
        self.last = self.last.max(value_of(id));
    }

    /// Returns the next id, from this time (milliseconds since 1970) and some random bits.
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
    (0..TIME_CHARACTERS + RANDOM_CHARACTERS)
        .rev()
        .map(|digit| char::from(ALPHABET[(value >> (digit * 5)) as usize & 31]))
        .collect()
}

fn value_of(id: &SessionId) -> u64 {
    let digit = |byte: u8| ALPHABET.iter().position(|other| *other == byte).unwrap_or(0) as u64;
    id.base_str().bytes().fold(0, |value, byte| (value << 5) | digit(byte))
}

/// The secret of one launch: 128 random bits, in hex.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaunchToken(String);

impl LaunchToken {
    /// Makes a token from random bits.
    #[must_use]
    pub fn new(random: u128) -> Self {
        Self(format!("{random:032x}"))
    }

    /// Returns whether a text is the secret, in constant time.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        let differing = self.0.bytes().zip(text.bytes()).fold(0, |seen, (a, b)| seen | (a ^ b));
        self.0.len() == text.len() && differing == 0
    }

    /// Returns the secret as text.
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
    fn a_further_launch_keeps_the_id_and_counts() {
        let mut maker = IdMaker::default();
        let (one, other) = (maker.next(EPOCH_MS + 77, 99), maker.next(EPOCH_MS + 78, 99));
        assert_eq!((one.attempt(), one.base()), (1, one.clone()));
        let mut launches = vec![one.clone()];
        for number in 2..13 {
            let next = launches.last().unwrap().next_attempt();
            assert_eq!(next.as_str(), format!("{one}_{number}"));
            assert_eq!((next.attempt(), next.base()), (number, one.clone()));
            assert_eq!(SessionId::parse(next.as_str()), Ok(next.clone()));
            launches.push(next);
        }
        launches.push(other.clone());
        assert!(launches.is_sorted_by(|a, b| a < b), "{launches:?}");
        assert!(launches[3].is_same_session(&one) && !other.is_same_session(&one));
        let mut later = IdMaker::default();
        later.after(&launches[11]);
        assert!(later.next(0, 0) > launches[11], "a new session is later than any launch");
    }

    #[test]
    fn a_launch_has_one_id_only() {
        let id = IdMaker::default().next(EPOCH_MS + 77, 99);
        for wrong in ["_", "_0", "_1", "_02", "_+2", "_2_3", "_99999999999", "-2", ".2", "_x"] {
            assert!(SessionId::parse(&format!("{id}{wrong}")).is_err(), "{wrong}");
        }
        assert_eq!(parse_first_launch(&format!("{id}_1")), Some(id.clone()));
        for wrong in [id.to_string(), format!("{id}_2"), format!("{id}_2_1"), "_1".into()] {
            assert_eq!(parse_first_launch(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_token_does_not_show_itself() {
        let token = LaunchToken::new(7);
        assert_eq!(format!("{token:?}"), "LaunchToken(…)");
        assert_eq!(token.secret().len(), 32);
        assert!(token.is(token.secret()));
        for other in ["", "7", &token.secret()[..31], LaunchToken::new(8).secret()] {
            assert!(!token.is(other), "{other}");
        }
    }
}

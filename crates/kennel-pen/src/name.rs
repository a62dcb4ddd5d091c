//! Names of pens. They contain the home's id, so that one home never touches another's processes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An invalid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} {value:?}: {rule}")]
pub struct ParseNameError {
    what: &'static str,
    value: String,
    rule: &'static str,
}

/// The random id of a home: 16 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct HomeId(String);

impl HomeId {
    /// Generates a random id.
    pub fn random() -> std::io::Result<Self> {
        Ok(Self(random_text(b"0123456789abcdef", 16)?))
    }

    /// Parses an id from a record.
    pub fn parse(text: &str) -> Result<Self, ParseNameError> {
        let valid =
            text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        check(valid, "home id", text, "expected 16 lower-case hex digits").map(Self)
    }
}

/// The id of a pen within its home. Kennel uses the id of the session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct PenId(String);

impl PenId {
    /// Generates a random id of 12 letters and digits.
    pub fn random() -> std::io::Result<Self> {
        // 32 characters that are hard to confuse.
        Ok(Self(random_text(b"0123456789abcdefghjkmnpqrstvwxyz", 12)?))
    }

    /// Parses an id.
    pub fn parse(text: &str) -> Result<Self, ParseNameError> {
        let valid = (1..=64).contains(&text.len())
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        check(valid, "session id", text, "expected 1 to 64 lower-case letters, digits or _")
            .map(Self)
    }
}

/// Both ids are text: shown as it is, and checked when it is deserialized.
macro_rules! impl_text_id {
    ($($id:ident),+) => {$(
        impl $id {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $id {
            type Error = ParseNameError;

            fn try_from(text: String) -> Result<Self, ParseNameError> {
                Self::parse(&text)
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

impl_text_id!(HomeId, PenId);

/// The name of a pen: `kennel-HOME-SESSION`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PenName {
    /// The home that the pen belongs to.
    pub home: HomeId,
    /// The id of the session in the pen.
    pub session: PenId,
}

impl PenName {
    /// Generates the name of a pen with a random id.
    pub fn random(home: HomeId) -> std::io::Result<Self> {
        Ok(Self { home, session: PenId::random()? })
    }

    /// Parses the name of a folder. Returns `None` if it is not the folder of a pen.
    pub fn parse(text: &str) -> Option<Self> {
        let (home, session) = text.strip_prefix("kennel-")?.split_once('-')?;
        Some(Self { home: HomeId::parse(home).ok()?, session: PenId::parse(session).ok()? })
    }
}

impl fmt::Display for PenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kennel-{}-{}", self.home, self.session)
    }
}

fn check(
    valid: bool,
    what: &'static str,
    text: &str,
    rule: &'static str,
) -> Result<String, ParseNameError> {
    let value = text.to_owned();
    if valid { Ok(value) } else { Err(ParseNameError { what, value, rule }) }
}

/// `alphabet` must have 16 or 32 characters, so that all are equally likely.
fn random_text(alphabet: &[u8], length: usize) -> std::io::Result<String> {
    let mut bytes = vec![0_u8; length];
    let mut filled = 0;
    while filled < length {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().map(|byte| char::from(alphabet[usize::from(*byte) % alphabet.len()])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_the_round_trip_and_other_folders_are_ignored() {
        let name = PenName::random(HomeId::random().unwrap()).unwrap();
        assert_eq!(PenName::parse(&name.to_string()), Some(name));
        for other in [
            "kennel",
            "kennel-",
            "kennel-xyz-a",
            "kennel-0123456789abcdef-",
            "kennels",
            "kennel-0123456789abcdef-A",
            "kennel-0123456789abcdef-a/b",
            "kennel-0123456789ABCDEF-a",
        ] {
            assert_eq!(PenName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn errors_name_the_value_and_the_rule() {
        let error = PenId::parse("No Way").unwrap_err().to_string();
        assert!(error.contains("\"No Way\"") && error.contains("lower-case"), "{error}");
    }
}

//! Names of pens: they carry the home's id, so that one home never touches another's processes.

use std::fmt;

/// What a name may not be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value:?} is not valid: {rule}")]
pub struct ParseNameError {
    what: &'static str,
    value: String,
    rule: &'static str,
}

/// The random id of a home: 16 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HomeId(String);

impl HomeId {
    /// A new random id.
    ///
    /// # Errors
    /// The kernel has no random bytes to give.
    pub fn random() -> std::io::Result<Self> {
        Ok(Self(random_text(b"0123456789abcdef", 16)?))
    }

    /// Takes an id from a record.
    ///
    /// # Errors
    /// It is not 16 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, ParseNameError> {
        let valid =
            text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        valid.then(|| Self(text.to_owned())).ok_or_else(|| ParseNameError {
            what: "home id",
            value: text.to_owned(),
            rule: "it must be 16 lower-case hex digits",
        })
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HomeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// A new random id of 12 letters and digits.
    ///
    /// # Errors
    /// The kernel has no random bytes to give.
    pub fn random() -> std::io::Result<Self> {
        // 32 characters that are hard to confuse.
        Ok(Self(random_text(b"0123456789abcdefghjkmnpqrstvwxyz", 12)?))
    }

    /// Takes an id that somebody else made.
    ///
    /// # Errors
    /// It is not 1 to 64 lower-case letters, digits or `_`.
    pub fn parse(text: &str) -> Result<Self, ParseNameError> {
        let valid = (1..=64).contains(&text.len())
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        valid.then(|| Self(text.to_owned())).ok_or_else(|| ParseNameError {
            what: "session id",
            value: text.to_owned(),
            rule: "it must be 1 to 64 lower-case letters, digits or _",
        })
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a pen: `kennel-HOME-SESSION`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PenName {
    /// Whose it is.
    pub home: HomeId,
    /// Which session it holds.
    pub session: SessionId,
}

impl PenName {
    /// A pen of a new random session.
    ///
    /// # Errors
    /// The kernel has no random bytes to give.
    pub fn random(home: HomeId) -> std::io::Result<Self> {
        Ok(Self { home, session: SessionId::random()? })
    }

    /// Understands the name of a folder, if it is a pen's.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (home, session) = text.strip_prefix("kennel-")?.split_once('-')?;
        Some(Self { home: HomeId::parse(home).ok()?, session: SessionId::parse(session).ok()? })
    }
}

impl fmt::Display for PenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kennel-{}-{}", self.home, self.session)
    }
}

/// `alphabet` must have 16 or 32 characters, so that every one is equally likely.
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
    fn a_name_survives_the_round_trip_and_strangers_are_no_pens() {
        let name = PenName::random(HomeId::random().unwrap()).unwrap();
        assert_eq!(PenName::parse(&name.to_string()), Some(name));
        for stranger in [
            "kennel",
            "kennel-",
            "kennel-xyz-a",
            "kennel-0123456789abcdef-",
            "kennels",
            "kennel-0123456789abcdef-A",
            "kennel-0123456789abcdef-a/b",
            "kennel-0123456789ABCDEF-a",
        ] {
            assert_eq!(PenName::parse(stranger), None, "{stranger}");
        }
    }

    #[test]
    fn errors_name_the_value_and_the_rule() {
        let error = SessionId::parse("No Way").unwrap_err().to_string();
        assert!(error.contains("\"No Way\"") && error.contains("lower-case"), "{error}");
    }
}

//! Random secrets, and their hashes.

use std::{fmt, io};

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The prefix of every secret, by which scanners recognize a leaked one.
const PREFIX: &str = "kennel_";
const BYTES: usize = 32;

/// A secret that grants access. Only [`Secret::expose`] returns its text.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// Creates a secret of 256 random bits.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
        }
        Ok(Self(format!("{PREFIX}{}", hex(&bytes))))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        (unhex(digits)?.len() == BYTES).then(|| Self(text.to_owned()))
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn hash(&self) -> SecretHash {
        SecretHash::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The SHA-256 of a secret. Comparisons take constant time.
#[derive(Debug, Clone, Copy, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct SecretHash([u8; 32]);

impl SecretHash {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl From<SecretHash> for String {
    fn from(hash: SecretHash) -> Self {
        hex(&hash.0)
    }
}

impl TryFrom<String> for SecretHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let bytes = unhex(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("invalid hash: expected 64 hexadecimal digits")
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        let differing = self.0.iter().zip(&other.0).fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(differing) == 0
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Accepts only lower case, so that a secret has only one spelling.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? << 4) | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_parse_from_their_text() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.expose().len(), PREFIX.len() + 64);
        assert_eq!(Secret::parse(one.expose()).unwrap().hash(), one.hash());
        assert!(!format!("{one:?}").contains(&one.expose()[8..]));
        for text in ["", "kennel_", "kennel_00", &one.expose()[1..], &one.expose().to_uppercase()] {
            assert!(Secret::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_hash_is_sha_256_and_parses_from_its_text() {
        let hash = SecretHash::of(b"abc");
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(String::from(hash), known);
        assert_eq!(SecretHash::try_from(known.to_owned()), Ok(hash));
        assert!(SecretHash::try_from(known[1..].to_owned()).is_err());
        assert_ne!(hash, SecretHash::of(b"abd"));
    }
}

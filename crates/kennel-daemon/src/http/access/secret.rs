//! Random secrets, and the sums by which they are known.

use std::fmt;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};

/// What every secret begins with, so that it is known for what it is wherever it turns up.
const PREFIX: &str = "kennel_";
const BYTES: usize = 32;

/// Something that lets in whoever says it. Never shown but by [`Secret::expose`].
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// A new one, of 256 random bits.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
        }
        Ok(Self(format!("{PREFIX}{}", hex(&bytes))))
    }

    /// Takes a text for one, if it looks like one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        (unhex(digits)?.len() == BYTES).then(|| Self(text.to_owned()))
    }

    /// The text itself.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn sum(&self) -> Sum {
        Sum::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The SHA-256 of a secret. Compared in the same time wherever two differ.
#[derive(Debug, Clone, Copy, Eq)]
pub(super) struct Sum([u8; 32]);

impl Sum {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(super) fn to_hex(self) -> String {
        hex(&self.0)
    }

    pub(super) fn from_hex(text: &str) -> Option<Self> {
        unhex(text)?.try_into().ok().map(Self)
    }
}

impl PartialEq for Sum {
    fn eq(&self, other: &Self) -> bool {
        let differing = self.0.iter().zip(&other.0).fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(differing) == 0
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lower-case only: one secret is written in one way.
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
    fn secrets_differ_and_come_back_from_their_text() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_ne!(one.sum(), other.sum());
        assert_eq!(one.expose().len(), PREFIX.len() + 64);
        assert_eq!(Secret::parse(one.expose()).unwrap().sum(), one.sum());
        assert!(!format!("{one:?}").contains(&one.expose()[8..]));
        for text in ["", "kennel_", "kennel_00", &one.expose()[1..], &one.expose().to_uppercase()] {
            assert!(Secret::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_sum_is_that_of_the_standard_and_comes_back_from_its_text() {
        let sum = Sum::of(b"abc");
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sum.to_hex(), known);
        assert_eq!(Sum::from_hex(known), Some(sum));
        assert_eq!(Sum::from_hex(&known[1..]), None);
        assert_ne!(sum, Sum::of(b"abd"));
    }
}

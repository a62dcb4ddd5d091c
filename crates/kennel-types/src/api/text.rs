//! Strings of the operating system in JSON, which may not be valid UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A string that may not be valid UTF-8: a plain string if it is, or else its bytes in hex.
/// Lossless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum OsText {
    /// Valid UTF-8.
    Plain(String),
    /// Any bytes.
    Bytes {
        /// The bytes, two hex digits each.
        hex: String,
    },
}

impl Default for OsText {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

impl From<&str> for OsText {
    fn from(text: &str) -> Self {
        Self::Plain(text.to_owned())
    }
}

impl From<&OsStr> for OsText {
    fn from(text: &OsStr) -> Self {
        match text.to_str() {
            Some(text) => Self::Plain(text.to_owned()),
            None => {
                let hex = text.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                Self::Bytes { hex }
            }
        }
    }
}

/// Hand-written, because the derived implementation copies each string first, and a request has a whole environment.
impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OsTextVisitor)
    }
}

struct OsTextVisitor;

impl<'de> Visitor<'de> for OsTextVisitor {
    type Value = OsText;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string, or an object with the bytes as \"hex\"")
    }

    fn visit_str<E>(self, text: &str) -> Result<OsText, E> {
        Ok(OsText::Plain(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<OsText, E> {
        Ok(OsText::Plain(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OsText, A::Error> {
        #[derive(Deserialize)]
        struct Bytes {
            hex: String,
        }
        let Bytes { hex } = Bytes::deserialize(MapAccessDeserializer::new(map))?;
        Ok(OsText::Bytes { hex })
    }
}

impl TryFrom<OsText> for OsString {
    type Error = String;

    fn try_from(text: OsText) -> Result<Self, String> {
        let hex = match text {
            OsText::Plain(text) => return Ok(text.into()),
            OsText::Bytes { hex } => hex,
        };
        let wrong = || format!("invalid hex {hex:?}: expected two digits for each byte");
        // `from_str_radix` would accept a sign.
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) || !hex.len().is_multiple_of(2) {
            return Err(wrong());
        }
        let pairs = (0..hex.len()).step_by(2);
        let bytes = pairs.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| wrong()));
        Ok(Self::from_vec(bytes.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive_a_round_trip() {
        for bytes in [&b"plain"[..], "ü".as_bytes(), b"\xff\x00x", b""] {
            let text = OsText::from(OsStr::from_bytes(bytes));
            let json = serde_json::to_string(&text).unwrap();
            let again: OsText = serde_json::from_str(&json).unwrap();
            assert_eq!(OsString::try_from(again).unwrap().as_bytes(), bytes);
        }
        for wrong in ["f", "zz", "+1", "ü"] {
            assert!(OsString::try_from(OsText::Bytes { hex: wrong.into() }).is_err(), "{wrong}");
        }
    }
}

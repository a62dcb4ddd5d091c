//! Text that need not be UTF-8, in JSON.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Text that need not be UTF-8: a plain string where it is, else its bytes in hex. Lossless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Text {
    /// UTF-8.
    Plain(String),
    /// Anything.
    Bytes {
        /// The bytes, two digits each.
        hex: String,
    },
}

impl Default for Text {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Plain(text.to_owned())
    }
}

impl From<&OsStr> for Text {
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

/// Written out, since the derived one takes a copy of each text first: a request has an environment of them.
impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ReadText)
    }
}

struct ReadText;

impl<'de> Visitor<'de> for ReadText {
    type Value = Text;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string, or an object with the bytes as \"hex\"")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text::Plain(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Text, E> {
        Ok(Text::Plain(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text, A::Error> {
        #[derive(Deserialize)]
        struct Bytes {
            hex: String,
        }
        let Bytes { hex } = Bytes::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Text::Bytes { hex })
    }
}

impl TryFrom<Text> for OsString {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        let hex = match text {
            Text::Plain(text) => return Ok(text.into()),
            Text::Bytes { hex } => hex,
        };
        let wrong = || format!("{hex:?} is not hex");
        // `from_str_radix` would take a sign for a digit.
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
    fn any_bytes_survive_the_round_trip() {
        for bytes in [&b"plain"[..], "ü".as_bytes(), b"\xff\x00x", b""] {
            let text = Text::from(OsStr::from_bytes(bytes));
            let json = serde_json::to_string(&text).unwrap();
            let again: Text = serde_json::from_str(&json).unwrap();
            assert_eq!(OsString::try_from(again).unwrap().as_bytes(), bytes);
        }
        for wrong in ["f", "zz", "+1", "ü"] {
            assert!(OsString::try_from(Text::Bytes { hex: wrong.into() }).is_err(), "{wrong}");
        }
    }
}

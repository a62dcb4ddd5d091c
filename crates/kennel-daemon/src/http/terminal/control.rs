//! What is said in text frames; those of bytes are the terminal's own.

use serde::{Deserialize, Serialize};

use super::super::output::End;

/// What a client says.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Told {
    /// Its window has this size.
    Resize { cols: u16, rows: u16 },
    /// This was typed.
    Input { text: String },
    /// There is no more input.
    Eof,
}

/// Why it can't be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misheard {
    /// It is no JSON object with a type, or one of its fields is wrong.
    #[error("a text frame is a JSON object with a `type`, and with the fields of that")]
    NotJson,
    /// There is no such type.
    #[error("there is no message of this type")]
    UnknownType,
}

impl Told {
    pub(super) fn read(text: &str) -> Result<Self, Misheard> {
        #[derive(Deserialize)]
        struct Typed<'a> {
            #[serde(rename = "type", borrow)]
            kind: std::borrow::Cow<'a, str>,
        }
        let typed: Typed<'_> = serde_json::from_str(text).map_err(|_| Misheard::NotJson)?;
        if !matches!(&*typed.kind, "resize" | "input" | "eof") {
            return Err(Misheard::UnknownType);
        }
        match serde_json::from_str(text).map_err(|_| Misheard::NotJson)? {
            Self::Resize { cols: 0, .. } | Self::Resize { rows: 0, .. } => Err(Misheard::NotJson),
            told => Ok(told),
        }
    }
}

/// What we say. Field names are stable: added to, never changed.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Say<'a> {
    /// From here on all that is printed follows.
    Attached {
        session: &'a str,
        launch: &'a str,
        /// Whether it has a terminal.
        terminal: bool,
        read_only: bool,
        /// So many bytes come first that draw the screen as it is.
        replay: usize,
        /// After them comes the output from this offset on.
        offset: u64,
    },
    /// Output is missing here.
    Gap { offset: u64, lost: Option<u64>, why: &'a str, text: String },
    /// What was sent did not go on to the session.
    Refused { why: String },
    /// The session has ended, and all was told.
    Ended { outcome: Option<End<'a>> },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_from_nonsense() {
        let resize = r#"{"type":"resize","cols":80,"rows":24}"#;
        assert_eq!(Told::read(resize), Ok(Told::Resize { cols: 80, rows: 24 }));
        let input = r#"{"type":"input","text":"ls\n","more":1}"#;
        assert_eq!(Told::read(input), Ok(Told::Input { text: "ls\n".into() }));
        assert_eq!(Told::read(r#"{"type":"eof"}"#), Ok(Told::Eof));
        for nonsense in [
            "",
            "ls",
            "[]",
            "{}",
            r#"{"type":7}"#,
            r#"{"type":"resize","cols":80}"#,
            r#"{"type":"resize","cols":0,"rows":1}"#,
            r#"{"type":"resize","cols":70000,"rows":1}"#,
            r#"{"type":"input","text":1}"#,
        ] {
            assert_eq!(Told::read(nonsense), Err(Misheard::NotJson), "{nonsense}");
        }
        assert_eq!(Told::read(r#"{"type":"dance"}"#), Err(Misheard::UnknownType));
    }
}

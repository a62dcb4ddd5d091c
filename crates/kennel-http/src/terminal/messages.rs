//! Control messages, in text frames; binary frames are the terminal's own bytes.

use serde::{Deserialize, Serialize};

use crate::output::EndRecord;

/// What a client sends.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ClientMessage {
    /// Its window has this size.
    Resize { cols: u16, rows: u16 },
    /// This was typed.
    Input { text: String },
    /// There is no more input.
    Eof,
}

/// Why a message was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ParseMessageError {
    /// The frame is not a JSON object with a type, or a field is wrong.
    #[error("expected a JSON object with a `type` and the fields of that type")]
    NotJson,
    /// The type is unknown.
    #[error("unknown message type")]
    UnknownType,
}

impl ClientMessage {
    pub(super) fn parse(text: &str) -> Result<Self, ParseMessageError> {
        #[derive(Deserialize)]
        struct MessageType<'a> {
            #[serde(rename = "type", borrow)]
            kind: std::borrow::Cow<'a, str>,
        }
        let typed: MessageType<'_> =
            serde_json::from_str(text).map_err(|_| ParseMessageError::NotJson)?;
        if !matches!(&*typed.kind, "resize" | "input" | "eof") {
            return Err(ParseMessageError::UnknownType);
        }
        match serde_json::from_str(text).map_err(|_| ParseMessageError::NotJson)? {
            Self::Resize { cols: 0, .. } | Self::Resize { rows: 0, .. } => {
                Err(ParseMessageError::NotJson)
            }
            message => Ok(message),
        }
    }
}

/// What the server sends. Fields may be added; names never change.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ServerMessage<'a> {
    /// The client is attached; output follows.
    Attached {
        session: &'a str,
        launch: &'a str,
        /// Whether the session has a terminal.
        terminal: bool,
        read_only: bool,
        /// The number of bytes that come first and redraw the screen.
        replay: usize,
        /// After these, output follows from this offset on.
        offset: u64,
    },
    /// Output is missing here.
    Gap { offset: u64, lost: Option<u64>, why: &'a str, text: String },
    /// What the client sent did not reach the session.
    Refused { why: String },
    /// The session has ended, and all output was sent.
    Ended { outcome: Option<EndRecord<'a>> },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_messages_and_refuses_anything_else() {
        let parse = ClientMessage::parse;
        let resize = r#"{"type":"resize","cols":80,"rows":24}"#;
        assert_eq!(parse(resize), Ok(ClientMessage::Resize { cols: 80, rows: 24 }));
        let input = r#"{"type":"input","text":"ls\n","more":1}"#;
        assert_eq!(parse(input), Ok(ClientMessage::Input { text: "ls\n".into() }));
        assert_eq!(parse(r#"{"type":"eof"}"#), Ok(ClientMessage::Eof));
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
            assert_eq!(parse(nonsense), Err(ParseMessageError::NotJson), "{nonsense}");
        }
        assert_eq!(parse(r#"{"type":"dance"}"#), Err(ParseMessageError::UnknownType));
    }
}

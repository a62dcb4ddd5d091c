//! Control messages, in text frames, and close codes; binary frames are the terminal's own bytes.

use std::borrow::Cow;

use axum::extract::ws::{CloseFrame, Message, close_code};
use serde::{Deserialize, Serialize};
use tungstenite::error::ProtocolError;

use crate::output::EndRecord;

const INVALID: &str = "expected a JSON object with a `type` and the fields of that type";
const UNKNOWN_TYPE: &str = "unknown message type";

/// A control message from a client.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ClientMessage {
    /// The client's window has this size.
    Resize {
        cols: u16,
        rows: u16,
    },
    Input {
        text: String,
    },
    Eof,
}

impl ClientMessage {
    pub(super) fn parse(text: &str) -> Result<Self, CloseReason> {
        #[derive(Deserialize)]
        struct MessageType<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
        }
        let invalid = || CloseReason::ByServer(close_code::INVALID, INVALID.into());
        let typed: MessageType<'_> = serde_json::from_str(text).map_err(|_| invalid())?;
        if !matches!(&*typed.kind, "resize" | "input" | "eof") {
            return Err(CloseReason::ByServer(close_code::UNSUPPORTED, UNKNOWN_TYPE.into()));
        }
        match serde_json::from_str(text).map_err(|_| invalid())? {
            Self::Resize { cols: 0, .. } | Self::Resize { rows: 0, .. } => Err(invalid()),
            message => Ok(message),
        }
    }
}

/// A control message from the server. Fields may be added; names never change.
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
        /// The number of bytes that are sent first and redraw the screen.
        replay: usize,
        /// The offset of the output that follows these bytes.
        offset: u64,
    },
    /// Output is missing here.
    Gap { offset: u64, lost: Option<u64>, why: &'a str, text: String },
    /// The client's input did not reach the session.
    Refused { why: String },
    /// The session has ended, and all output was sent.
    Ended { outcome: Option<EndRecord<'a>> },
}

impl ServerMessage<'_> {
    pub(super) fn to_text(&self) -> serde_json::Result<Message> {
        Ok(Message::Text(serde_json::to_string(self)?.into()))
    }
}

/// Why a connection is closed, as a WebSocket close code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The server closes it, with this code and this text.
    ByServer(u16, Cow<'static, str>),
    /// The client closes the connection and waits for a close frame, which the library sends.
    ByClient,
    Disconnected,
}

impl CloseReason {
    pub(super) const SESSION_ENDED: Self = Self::ByServer(close_code::NORMAL, Cow::Borrowed(""));
    pub(super) const SHUTDOWN: Self =
        Self::ByServer(close_code::AWAY, Cow::Borrowed("the daemon is shutting down; reconnect"));
    pub(super) const PING_TIMEOUT: Self =
        Self::ByServer(close_code::AWAY, Cow::Borrowed("no response to pings"));

    pub(super) fn failed(why: impl Into<Cow<'static, str>>) -> Self {
        Self::ByServer(close_code::ERROR, why.into())
    }

    pub(super) fn frame(&self) -> Option<CloseFrame> {
        let Self::ByServer(code, reason) = self else { return None };
        // The limit for the reason in a close frame is 123 bytes.
        let reason = kennel_types::beginning_of(reason, 120);
        Some(CloseFrame { code: *code, reason: reason.into() })
    }
}

impl From<axum::Error> for CloseReason {
    /// Converts the error of a failed receive or send.
    fn from(error: axum::Error) -> Self {
        use tungstenite::Error::{Capacity, Protocol, Utf8};
        let (code, text) = match error.into_inner().downcast_ref() {
            Some(Utf8(_)) => (close_code::INVALID, "the text is not UTF-8"),
            Some(Capacity(_)) => (close_code::SIZE, "the message is too long"),
            Some(Protocol(
                ProtocolError::ResetWithoutClosingHandshake | ProtocolError::SendAfterClosing,
            )) => return Self::Disconnected,
            Some(Protocol(_)) => (close_code::PROTOCOL, "malformed frame"),
            _ => return Self::Disconnected,
        };
        Self::ByServer(code, text.into())
    }
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
            let refused = CloseReason::ByServer(close_code::INVALID, INVALID.into());
            assert_eq!(parse(nonsense), Err(refused), "{nonsense}");
        }
        let unknown = CloseReason::ByServer(close_code::UNSUPPORTED, UNKNOWN_TYPE.into());
        assert_eq!(parse(r#"{"type":"dance"}"#), Err(unknown));
    }
}

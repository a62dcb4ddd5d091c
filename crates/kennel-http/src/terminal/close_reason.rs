//! Why a connection is closed, as WebSocket close codes.

use axum::extract::ws::{CloseFrame, close_code};
use tungstenite::error::ProtocolError;

use super::messages::ParseMessageError;

/// Why a connection is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The session has ended.
    SessionEnded,
    /// The client closes the connection, and waits for the answer.
    ClosedByClient,
    /// The daemon shuts down; its successor is there soon.
    Shutdown,
    /// The client does not answer pings.
    PingTimeout,
    /// A frame is malformed.
    Malformed,
    /// A text frame is not UTF-8, or not the expected JSON.
    InvalidMessage(String),
    /// A message has an unknown type.
    Unsupported(String),
    /// A message is too long.
    TooLong,
    /// The server failed.
    Failed(String),
    /// The connection is gone.
    Disconnected,
}

impl CloseReason {
    /// The close frame; none if the library sends it, or if the connection is gone.
    pub(super) fn frame(&self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::SessionEnded => (close_code::NORMAL, ""),
            Self::Shutdown => (close_code::AWAY, "the daemon is shutting down; reconnect"),
            Self::PingTimeout => (close_code::AWAY, "no answer to pings"),
            Self::Malformed => (close_code::PROTOCOL, "malformed frame"),
            Self::InvalidMessage(why) => (close_code::INVALID, why.as_str()),
            Self::Unsupported(why) => (close_code::UNSUPPORTED, why.as_str()),
            Self::TooLong => (close_code::SIZE, "the message is too long"),
            Self::Failed(why) => (close_code::ERROR, why.as_str()),
            Self::ClosedByClient | Self::Disconnected => return None,
        };
        // The limit for the reason in a close frame is 123 bytes.
        let reason = kennel_types::beginning_of(reason, 120);
        Some(CloseFrame { code, reason: reason.into() })
    }
}

impl From<ParseMessageError> for CloseReason {
    fn from(error: ParseMessageError) -> Self {
        match error {
            ParseMessageError::NotJson => Self::InvalidMessage(error.to_string()),
            ParseMessageError::UnknownType => Self::Unsupported(error.to_string()),
        }
    }
}

impl From<axum::Error> for CloseReason {
    /// After a failed receive or send.
    fn from(error: axum::Error) -> Self {
        match error.into_inner().downcast_ref::<tungstenite::Error>() {
            Some(tungstenite::Error::Utf8(_)) => {
                Self::InvalidMessage("the text is not UTF-8".into())
            }
            Some(tungstenite::Error::Capacity(_)) => Self::TooLong,
            Some(tungstenite::Error::Protocol(
                ProtocolError::ResetWithoutClosingHandshake | ProtocolError::SendAfterClosing,
            )) => Self::Disconnected,
            Some(tungstenite::Error::Protocol(_)) => Self::Malformed,
            _ => Self::Disconnected,
        }
    }
}

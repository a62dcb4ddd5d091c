//! Why a connection is closed, as WebSocket close codes.

use std::borrow::Cow;

use axum::extract::ws::{CloseFrame, close_code};
use tungstenite::error::ProtocolError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The server closes it, with this code and this text.
    ByServer(u16, Cow<'static, str>),
    /// The client closes the connection, and waits for the answer, which the library sends.
    ByClient,
    Disconnected,
}

impl CloseReason {
    pub(super) const SESSION_ENDED: Self = Self::ByServer(close_code::NORMAL, Cow::Borrowed(""));
    pub(super) const SHUTDOWN: Self =
        Self::ByServer(close_code::AWAY, Cow::Borrowed("the daemon is shutting down; reconnect"));
    pub(super) const PING_TIMEOUT: Self =
        Self::ByServer(close_code::AWAY, Cow::Borrowed("no answer to pings"));

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
    /// After a failed receive or send.
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

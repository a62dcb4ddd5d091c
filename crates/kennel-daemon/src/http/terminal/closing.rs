//! How a connection ends, in the codes of WebSockets.

use axum::extract::ws::{CloseFrame, close_code};
use tungstenite::error::ProtocolError;

use super::control::Misheard;

/// Why a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Closing {
    /// The session has ended.
    Done,
    /// The client goes, and waits for its answer to that.
    Bye,
    /// The daemon leaves: its next one is there soon.
    Leaving,
    /// The client does not answer.
    Silent,
    /// Frames that make no sense.
    Malformed,
    /// A text that is none, or not what it should be.
    Inconsistent(String),
    /// A message of no known type.
    Unsupported(String),
    /// A message that is too long.
    TooBig,
    /// Something failed here.
    Failed(String),
    /// Nobody is there to be told.
    Gone,
}

impl Closing {
    /// What to say last; nothing if that is said by itself, or nobody is there.
    pub(super) fn frame(&self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Done => (close_code::NORMAL, ""),
            Self::Leaving => (close_code::AWAY, "the daemon leaves; come back"),
            Self::Silent => (close_code::AWAY, "no answer to pings"),
            Self::Malformed => (close_code::PROTOCOL, "malformed frame"),
            Self::Inconsistent(why) => (close_code::INVALID, why.as_str()),
            Self::Unsupported(why) => (close_code::UNSUPPORTED, why.as_str()),
            Self::TooBig => (close_code::SIZE, "the message is too long"),
            Self::Failed(why) => (close_code::ERROR, why.as_str()),
            Self::Bye | Self::Gone => return None,
        };
        // A close frame has room for no more.
        let reason = kennel_types::beginning_of(reason, 120);
        Some(CloseFrame { code, reason: reason.into() })
    }
}

impl From<Misheard> for Closing {
    fn from(misheard: Misheard) -> Self {
        match misheard {
            Misheard::NotJson => Self::Inconsistent(misheard.to_string()),
            Misheard::UnknownType => Self::Unsupported(misheard.to_string()),
        }
    }
}

impl From<axum::Error> for Closing {
    /// After a failed receive or send.
    fn from(error: axum::Error) -> Self {
        match error.into_inner().downcast_ref::<tungstenite::Error>() {
            Some(tungstenite::Error::Utf8(_)) => Self::Inconsistent("the text is not UTF-8".into()),
            Some(tungstenite::Error::Capacity(_)) => Self::TooBig,
            Some(tungstenite::Error::Protocol(
                ProtocolError::ResetWithoutClosingHandshake | ProtocolError::SendAfterClosing,
            )) => Self::Gone,
            Some(tungstenite::Error::Protocol(_)) => Self::Malformed,
            _ => Self::Gone,
        }
    }
}

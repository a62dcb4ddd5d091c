//! Requests to a keeper.

use std::time::Duration;

use kennel_pen::Size;
use kennel_pen::wire::WireMessage;
use serde::{Deserialize, Serialize};

/// The role in which a peer connects to a keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerRole {
    /// The daemon: it launches, and records the outcome. The latest daemon replaces earlier ones.
    Daemon,
    /// A client that follows the session, types, or requests a stop.
    Client,
    /// The client of a tethered session, which ends when this client disconnects.
    Owner,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperRequest {
    /// The first request. The keeper answers with its own hello, or with a refusal.
    Hello {
        /// The version that the peer speaks.
        version: u32,
        /// The peer's role.
        role: PeerRole,
    },
    /// Requests the state. The answer is [`super::KeeperReport::State`].
    Status,
    /// Ends everything: TERM, and KILL after the grace (of the order, if none is given).
    Stop {
        /// The time between TERM and KILL.
        grace: Option<Duration>,
    },
    /// Ends everything at once.
    Kill,
    /// The session's record is durable: create pen and process.
    Go,
    /// Opens the gate.
    Open,
    /// Calls the launch off, and ends what was created for it.
    Dismiss,
    /// The outcome is recorded, so the keeper can exit.
    Release,
    /// Sends a signal to every process of the session.
    Signal(i32),
    /// Bytes for the agent's standard input or terminal.
    Input(Vec<u8>),
    /// Closes the agent's standard input.
    CloseInput,
    /// Changes the size of the terminal.
    Resize(Size),
    /// Subscribes to reports on the journal's growth.
    Follow,
    /// Closes the reading end of this stream (1 or 2), so that the agent's next write to it fails.
    CloseOutput(u8),
    /// Lets the session continue without its owner.
    Detach,
    /// Requests the processes in the pen.
    Members,
    /// Requests the resource usage of the pen.
    Usage,
    /// From the daemon: the agent has reported something, so it is not idle.
    Touch,
    /// From the daemon, to a free keeper: take another launch. Sent with the order in a memfd, the
    /// launch's lock, and possibly a standard input.
    Keep,
}

impl WireMessage for KeeperRequest {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_survives_the_round_trip() {
        let size = Size { rows: 24, columns: 80 };
        let requests = [
            KeeperRequest::Hello { version: 1, role: PeerRole::Owner },
            KeeperRequest::Status,
            KeeperRequest::Stop { grace: Some(Duration::from_millis(5)) },
            KeeperRequest::Stop { grace: None },
            KeeperRequest::Kill,
            KeeperRequest::Go,
            KeeperRequest::Open,
            KeeperRequest::Dismiss,
            KeeperRequest::Release,
            KeeperRequest::Signal(2),
            KeeperRequest::Input(b"ls\n".to_vec()),
            KeeperRequest::CloseInput,
            KeeperRequest::Resize(size),
            KeeperRequest::Follow,
            KeeperRequest::CloseOutput(1),
            KeeperRequest::Detach,
            KeeperRequest::Members,
            KeeperRequest::Usage,
            KeeperRequest::Touch,
            KeeperRequest::Keep,
        ];
        for request in requests {
            assert_eq!(KeeperRequest::decode(&request.encode()), Ok(request));
        }
    }

    /// A newer daemon must always be able to end the sessions of older keepers.
    #[test]
    fn the_bytes_that_must_never_change_are_unchanged() {
        let hello = KeeperRequest::Hello { version: 1, role: PeerRole::Daemon };
        assert_eq!(hello.encode(), [0, 1, 0]);
        assert_eq!(KeeperRequest::Status.encode(), [1]);
        assert_eq!(KeeperRequest::Stop { grace: None }.encode(), [2, 0]);
        assert_eq!(KeeperRequest::Kill.encode(), [3]);
    }
}

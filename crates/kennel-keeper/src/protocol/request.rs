//! What a keeper is asked.

use std::time::Duration;

use kennel_pen::Size;
use kennel_pen::wire::{Garbled, Reader, Writer};

/// As whom somebody connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerRole {
    /// The daemon: it launches, and takes the outcome. The latest one counts.
    Daemon,
    /// Somebody who looks on, types, or asks for a stop.
    Client,
    /// The client that a tethered session is tied to.
    Owner,
}

/// A request to a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperRequest {
    /// First of all. The keeper answers with its own hello, or with a refusal.
    Hello {
        /// What the caller speaks.
        version: u32,
        /// As whom.
        role: PeerRole,
    },
    /// How are things? Answered by `KeeperReport::State`.
    Status,
    /// End everything: TERM, and KILL after the grace (the order's own, if none is given).
    Stop {
        /// How long between TERM and KILL.
        grace: Option<Duration>,
    },
    /// End everything at once.
    Kill,
    /// The row is durable: make pen and process.
    Go,
    /// Open the gate.
    Open,
    /// Launch nothing; end what was made for the launch.
    Dismiss,
    /// The outcome is on record: go.
    Release,
    /// A signal to every process of the session.
    Signal(i32),
    /// Bytes for the agent's standard input or terminal.
    Input(Vec<u8>),
    /// The end of its standard input.
    CloseInput,
    /// The terminal has another size.
    Resize(Size),
    /// Say when the journal has grown.
    Follow,
    /// Nobody reads this stream any more (1 or 2): let the agent notice.
    CloseOutput(u8),
    /// The session goes on without its owner.
    Untether,
    /// Who is in the pen?
    Members,
    /// What does it use?
    Usage,
    /// From the daemon: the agent has reported something, so it is not idle. A keeper of an older version refuses
    /// this, and has no limit that it would matter to.
    Touch,
    /// From the daemon, to a keeper that is free: see to another launch. With it come the order in a memfd, the
    /// launch's lock, and maybe a standard input.
    Keep,
}

impl KeeperRequest {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Hello { version, role } => out.u8(1).u32(*version).u8(match role {
                PeerRole::Daemon => 0,
                PeerRole::Client => 1,
                PeerRole::Owner => 2,
            }),
            Self::Status => out.u8(2),
            Self::Stop { grace } => out.u8(3).option(*grace, |out, grace| {
                out.duration(grace);
            }),
            Self::Kill => out.u8(4),
            Self::Go => out.u8(5),
            Self::Open => out.u8(6),
            Self::Dismiss => out.u8(7),
            Self::Release => out.u8(8),
            Self::Signal(number) => out.u8(9).i32(*number),
            Self::Input(bytes) => out.u8(10).bytes(bytes),
            Self::CloseInput => out.u8(11),
            Self::Resize(size) => out.u8(12).u32(size.rows.into()).u32(size.columns.into()),
            Self::Follow => out.u8(13),
            Self::CloseOutput(stream) => out.u8(14).u8(*stream),
            Self::Untether => out.u8(15),
            Self::Members => out.u8(16),
            Self::Usage => out.u8(17),
            Self::Touch => out.u8(18),
            Self::Keep => out.u8(19),
        };
        out.finish()
    }

    /// From bytes.
    ///
    /// # Errors
    /// They make no sense.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut input = Reader(bytes);
        let request = match input.u8()? {
            1 => Self::Hello {
                version: input.u32()?,
                role: match input.u8()? {
                    0 => PeerRole::Daemon,
                    1 => PeerRole::Client,
                    2 => PeerRole::Owner,
                    _ => return Err(Garbled),
                },
            },
            2 => Self::Status,
            3 => Self::Stop { grace: input.option(Reader::duration)? },
            4 => Self::Kill,
            5 => Self::Go,
            6 => Self::Open,
            7 => Self::Dismiss,
            8 => Self::Release,
            9 => Self::Signal(input.i32()?),
            10 => Self::Input(input.bytes()?.to_vec()),
            11 => Self::CloseInput,
            12 => {
                let mut number = || u16::try_from(input.u32()?).map_err(|_| Garbled);
                Self::Resize(Size { rows: number()?, columns: number()? })
            }
            13 => Self::Follow,
            14 => Self::CloseOutput(input.u8()?),
            15 => Self::Untether,
            16 => Self::Members,
            17 => Self::Usage,
            18 => Self::Touch,
            19 => Self::Keep,
            _ => return Err(Garbled),
        };
        // A newer caller may say more than we know.
        Ok(request)
    }
}

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
            KeeperRequest::Untether,
            KeeperRequest::Members,
            KeeperRequest::Usage,
            KeeperRequest::Touch,
            KeeperRequest::Keep,
        ];
        for request in requests {
            assert_eq!(KeeperRequest::decode(&request.encode()), Ok(request));
        }
    }

    /// Bytes that were once understood must be for ever: old keepers live on below new daemons.
    #[test]
    fn what_must_never_change_has_not_changed() {
        assert_eq!(KeeperRequest::Status.encode(), [2]);
        assert_eq!(KeeperRequest::Stop { grace: None }.encode(), [3, 0]);
        assert_eq!(KeeperRequest::Kill.encode(), [4]);
        assert_eq!(
            KeeperRequest::Hello { version: 1, role: PeerRole::Daemon }.encode(),
            [1, 1, 0, 0, 0, 0]
        );
    }
}

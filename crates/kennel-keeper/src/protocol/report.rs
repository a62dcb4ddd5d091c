//! What a keeper says.

use std::path::PathBuf;

use kennel_pen::wire::{
    Garbled, Reader, Writer, read_identity, read_member, read_status, read_survivor, read_usage,
    write_identity, write_member, write_status, write_survivor, write_usage,
};
use kennel_pen::{PenProcess, PenUsage, ProcessIdentity, Status, Survivor};

use super::outcome::Outcome;

/// How far a launch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchStage {
    /// It waits to be told to launch.
    Waiting,
    /// The process is behind its gate.
    Gated,
    /// The gate was opened.
    Running,
    /// The end is under way.
    Ending,
    /// The pen is empty; the outcome waits to be taken.
    Over,
}

/// How things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperState {
    /// How far it has come.
    pub stage: LaunchStage,
    /// The agent's process.
    pub identity: Option<ProcessIdentity>,
    /// The pen's cgroup.
    pub cgroup: Option<PathBuf>,
    /// How the agent itself ended, if it has.
    pub exited: Option<Status>,
    /// The outcome, if it is over.
    pub outcome: Option<Outcome>,
    /// Where the journal ends.
    pub journal_end: u64,
    /// How long ago the gate was opened, in milliseconds in which the machine was awake. None if it was not, and
    /// none from a keeper of an older version.
    pub open_for_ms: Option<u64>,
}

/// A report of a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperReport {
    /// Its answer to a hello.
    Hello {
        /// What it speaks.
        version: u32,
        /// Its own pid.
        pid: i32,
        /// The launch's token.
        token: String,
    },
    /// How things are. To a daemon the agent's pidfd comes along, if there is an agent.
    State(Box<KeeperState>),
    /// The process exists behind its gate; its pidfd comes along.
    Born {
        /// Which process.
        identity: ProcessIdentity,
        /// The pen's cgroup.
        cgroup: Option<PathBuf>,
    },
    /// The gate was opened and the program runs.
    Running,
    /// The agent itself has ended.
    Exited(Status),
    /// What it left behind is told to end now.
    LeftBehind(Vec<PenProcess>),
    /// A stop was understood and is under way.
    Ending,
    /// These can't be ended so far.
    StillAlive(Vec<Survivor>),
    /// The pen is empty, or nothing was ever launched. The keeper waits for a release.
    Gone(Outcome),
    /// Something failed; the keeper goes on.
    Trouble(String),
    /// The journal ends here now.
    Grown(u64),
    /// So many bytes of input were taken.
    InputTaken(u32),
    /// Who is in the pen.
    Members(Vec<PenProcess>),
    /// What it uses.
    Usage(PenUsage),
    /// What was asked is not possible.
    Refused(String),
    /// To the daemon: the launch is done with, nothing is left of it here, and another one may come
    /// (`KeeperRequest::Keep`).
    Free,
}

impl KeeperReport {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Hello { version, pid, token } => {
                out.u8(1).u32(*version).i32(*pid).text(token);
            }
            Self::State(state) => {
                out.u8(2).u8(state.stage as u8);
                out.option(state.identity.as_ref(), write_identity);
                out.option(state.cgroup.as_deref(), |out, path| {
                    out.path(path);
                });
                out.option(state.exited.as_ref(), write_status);
                out.option(state.outcome.as_ref(), |out, outcome| outcome.write(out));
                out.u64(state.journal_end);
                out.option(state.open_for_ms, |out, ms| {
                    out.u64(ms);
                });
            }
            Self::Born { identity, cgroup } => {
                out.u8(3);
                write_identity(&mut out, identity);
                out.option(cgroup.as_deref(), |out, path| {
                    out.path(path);
                });
            }
            Self::Running => {
                out.u8(4);
            }
            Self::Exited(status) => {
                out.u8(5);
                write_status(&mut out, status);
            }
            Self::LeftBehind(members) => {
                out.u8(6).list(members, write_member);
            }
            Self::Ending => {
                out.u8(7);
            }
            Self::StillAlive(survivors) => {
                out.u8(8).list(survivors, write_survivor);
            }
            Self::Gone(outcome) => {
                out.u8(9);
                outcome.write(&mut out);
            }
            Self::Trouble(text) => {
                out.u8(10).text(text);
            }
            Self::Grown(end) => {
                out.u8(11).u64(*end);
            }
            Self::InputTaken(bytes) => {
                out.u8(12).u32(*bytes);
            }
            Self::Members(members) => {
                out.u8(13).list(members, write_member);
            }
            Self::Usage(usage) => {
                out.u8(14);
                write_usage(&mut out, usage);
            }
            Self::Refused(text) => {
                out.u8(15).text(text);
            }
            Self::Free => {
                out.u8(16);
            }
        }
        out.finish()
    }

    /// From bytes.
    ///
    /// # Errors
    /// They make no sense.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut input = Reader(bytes);
        Ok(match input.u8()? {
            1 => Self::Hello { version: input.u32()?, pid: input.i32()?, token: input.text()? },
            2 => Self::State(Box::new(KeeperState {
                stage: match input.u8()? {
                    0 => LaunchStage::Waiting,
                    1 => LaunchStage::Gated,
                    2 => LaunchStage::Running,
                    3 => LaunchStage::Ending,
                    4 => LaunchStage::Over,
                    _ => return Err(Garbled),
                },
                identity: input.option(read_identity)?,
                cgroup: input.option(Reader::path)?,
                exited: input.option(read_status)?,
                outcome: input.option(Outcome::read)?,
                journal_end: input.u64()?,
                open_for_ms: input.option_if_said(Reader::u64)?,
            })),
            3 => Self::Born {
                identity: read_identity(&mut input)?,
                cgroup: input.option(Reader::path)?,
            },
            4 => Self::Running,
            5 => Self::Exited(read_status(&mut input)?),
            6 => Self::LeftBehind(input.list(read_member)?),
            7 => Self::Ending,
            8 => Self::StillAlive(input.list(read_survivor)?),
            9 => Self::Gone(Outcome::read(&mut input)?),
            10 => Self::Trouble(input.text()?),
            11 => Self::Grown(input.u64()?),
            12 => Self::InputTaken(input.u32()?),
            13 => Self::Members(input.list(read_member)?),
            14 => Self::Usage(read_usage(&mut input)?),
            15 => Self::Refused(input.text()?),
            16 => Self::Free,
            _ => return Err(Garbled),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_an_older_keeper_is_understood() {
        let state = KeeperState {
            stage: LaunchStage::Running,
            identity: None,
            cgroup: None,
            exited: None,
            outcome: None,
            journal_end: 7,
            open_for_ms: Some(5),
        };
        let bytes = KeeperReport::State(Box::new(state.clone())).encode();
        assert_eq!(KeeperReport::decode(&bytes), Ok(KeeperReport::State(Box::new(state.clone()))));
        let older = &bytes[..bytes.len() - 9];
        let state = KeeperState { open_for_ms: None, ..state };
        assert_eq!(KeeperReport::decode(older), Ok(KeeperReport::State(Box::new(state))));
        assert_eq!(
            KeeperReport::decode(&bytes[..bytes.len() - 1]),
            Err(Garbled),
            "but no torn one"
        );
    }
}

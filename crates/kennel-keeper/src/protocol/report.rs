//! Reports of a keeper.

use std::path::PathBuf;

use kennel_pen::wire::{WireMessage, optional_os_path};
use kennel_pen::{PenProcess, PenUsage, ProcessIdentity, Status};
use kennel_types::Survivor;
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;

/// The stage of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchStage {
    /// The keeper waits for the request to launch.
    #[default]
    Waiting,
    /// The process is behind its gate.
    Gated,
    /// The gate was opened.
    Running,
    /// The end is under way.
    Ending,
    /// The pen is empty, and the keeper waits for its outcome to be recorded.
    Over,
}

/// The state of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperState {
    /// The stage of the launch.
    pub stage: LaunchStage,
    /// The agent's process.
    pub identity: Option<ProcessIdentity>,
    /// The folder of the pen's cgroup.
    #[serde(with = "optional_os_path")]
    pub cgroup: Option<PathBuf>,
    /// The agent's exit status, once it has exited.
    pub exited: Option<Status>,
    /// The outcome, once the launch is over.
    pub outcome: Option<Outcome>,
    /// The offset at which the journal ends.
    pub journal_end: u64,
    /// How long ago the gate was opened, in milliseconds in which the machine was awake.
    pub open_for_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperReport {
    /// The answer to a hello.
    Hello {
        /// The version that the keeper speaks.
        version: u32,
        /// The keeper's pid.
        pid: i32,
        /// The launch's token.
        token: String,
    },
    /// The state. A daemon also gets the agent's pidfd, if there is an agent.
    State(Box<KeeperState>),
    /// The process exists behind its gate. The report has its pidfd attached.
    Born {
        identity: ProcessIdentity,
        /// The folder of the pen's cgroup.
        #[serde(with = "optional_os_path")]
        cgroup: Option<PathBuf>,
    },
    /// The gate was opened and the program runs.
    Running,
    /// The agent itself has exited.
    Exited(Status),
    /// The agent left these processes behind. They are being terminated.
    LeftBehind(Vec<PenProcess>),
    /// A stop was accepted and is under way.
    Ending,
    /// These processes can't be killed so far.
    StillAlive(Vec<Survivor>),
    /// The pen is empty, or nothing was ever launched. The keeper waits for a release.
    Gone(Outcome),
    /// Something failed, and the keeper continues.
    Trouble(String),
    /// The journal now ends at this offset.
    Grown(u64),
    /// This many bytes of input were passed on to the agent.
    InputTaken(u32),
    /// The processes in the pen.
    Members(Vec<PenProcess>),
    /// The resource usage of the pen.
    Usage(PenUsage),
    /// The request is refused, for this reason.
    Refused(String),
    /// To the daemon: the launch is finished, and the keeper can take another one
    /// ([`super::KeeperRequest::Keep`]).
    Free,
}

impl WireMessage for KeeperReport {}

#[cfg(test)]
mod tests {
    use kennel_pen::wire::MalformedMessage;

    use super::*;

    #[test]
    fn a_state_survives_the_round_trip_and_a_torn_one_is_refused() {
        let state = KeeperState {
            stage: LaunchStage::Running,
            cgroup: Some("/sys/fs/cgroup/x".into()),
            journal_end: 7,
            open_for_ms: Some(5),
            ..KeeperState::default()
        };
        let report = KeeperReport::State(Box::new(state));
        let bytes = report.encode();
        assert_eq!(KeeperReport::decode(&bytes), Ok(report));
        assert_eq!(KeeperReport::decode(&bytes[..bytes.len() - 1]), Err(MalformedMessage));
    }
}

//! What a keeper launches. All of it, even the environment, stays in memory, never on disk.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use kennel_pen::wire::{WireMessage, os_path};
use kennel_pen::{PenLimits, PenName, ResourceLimit, Size};
use kennel_types::PenKind;
use kennel_types::api::TerminalSettings;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchOrder {
    /// The name of the pen: home and session.
    pub name: PenName,
    /// The secret of this launch.
    pub token: String,
    /// The session's folder, which exists.
    #[serde(with = "os_path")]
    pub folder: PathBuf,
    /// The command.
    pub argv: Vec<OsString>,
    /// The whole environment of the agent, apart from Kennel's cookies.
    pub env: Vec<(OsString, OsString)>,
    /// The folder to start in.
    #[serde(with = "os_path")]
    pub cwd: PathBuf,
    pub umask: u32,
    /// Resource limits.
    pub limits: Vec<ResourceLimit>,
    pub kind: PenKind,
    /// How long processes that the agent leaves behind may keep running.
    pub linger: Duration,
    /// How long a stop waits between TERM and KILL.
    pub grace: Duration,
    /// How long the session keeps running without a daemon.
    pub lease: Option<Duration>,
    /// Whether the session ends when its owner disconnects without a request to detach.
    pub tethered: bool,
    /// Set if the agent gets a terminal.
    pub terminal: Option<TerminalOrder>,
    /// The agent's standard input, if it gets no terminal.
    pub stdin: Stdin,
    /// The maximum number of bytes of output that are kept.
    pub output_limit: u64,
    /// How long the launch may take, from the open gate on. For all three time limits: the time
    /// that the machine sleeps does not count, zero means no limit, and the keeper needs no daemon.
    pub timeout: Option<Duration>,
    /// How long the launch may show no activity at all.
    pub idle: Option<Duration>,
    /// How long the launch may print nothing.
    pub silence: Option<Duration>,
    /// The maximum memory of all processes, in bytes.
    pub memory: Option<u64>,
    /// The maximum number of processes and threads.
    pub pids: Option<u64>,
    /// The maximum CPU, in thousandths of a core.
    pub cpu: Option<u32>,
    /// Whether to launch without those of the last three limits that the host does not support.
    pub best_effort: bool,
    /// The signal that asks the agent to end, if it is not TERM.
    pub stop_signal: Option<i32>,
    /// The content of standard input for a further launch. It is set only in orders that the yard
    /// stores for the next daemon; a keeper gets it as a descriptor.
    pub prompt: Option<Vec<u8>>,
}

/// The source of standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// `/dev/null`.
    Null,
    /// A pipe that clients write to.
    Pipe,
    /// A descriptor that is sent with the order.
    Given,
}

/// A terminal for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalOrder {
    pub size: Size,
    /// The settings of the client's own terminal, to be copied.
    pub settings: Option<TerminalSettings>,
    /// Whether standard error is a separate pipe.
    pub stderr_apart: bool,
}

impl WireMessage for LaunchOrder {}

impl LaunchOrder {
    pub fn pen_limits(&self) -> PenLimits {
        let Self { memory, pids, cpu, best_effort, .. } = *self;
        PenLimits { memory, pids, cpu, best_effort }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use kennel_pen::{HomeId, PenId};

    use super::*;

    #[test]
    fn an_order_survives_the_round_trip() {
        let order = LaunchOrder {
            name: PenName {
                home: HomeId::parse("0123456789abcdef").unwrap(),
                session: PenId::parse("a").unwrap(),
            },
            token: "t".into(),
            folder: OsString::from_vec(vec![b'/', 0xff]).into(),
            argv: vec!["x".into()],
            env: vec![("A".into(), OsString::from_vec(vec![0xff]))],
            cwd: "/".into(),
            umask: 0o22,
            limits: vec![ResourceLimit { resource: 7, soft: 1, hard: u64::MAX }],
            kind: PenKind::Pidns,
            linger: Duration::from_secs(1),
            grace: Duration::from_secs(2),
            lease: Some(Duration::from_secs(3)),
            tethered: true,
            terminal: None,
            stdin: Stdin::Pipe,
            output_limit: 4,
            timeout: Some(Duration::from_secs(5)),
            idle: Some(Duration::from_secs(6)),
            silence: Some(Duration::from_secs(7)),
            memory: Some(8),
            pids: Some(9),
            cpu: Some(10),
            best_effort: true,
            stop_signal: Some(2),
            prompt: Some(b"go".to_vec()),
        };
        assert_eq!(LaunchOrder::decode(&order.encode()), Ok(order));
    }
}

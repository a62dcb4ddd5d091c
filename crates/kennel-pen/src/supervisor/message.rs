//! The messages between a supervisor and the program that started it.

use std::path::PathBuf;
use std::time::Duration;

use kennel_sys::identity::ProcessIdentity;
use kennel_types::PenKind;
use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::launch::LaunchError;
use crate::name::PenName;
use crate::process::{PenProcess, PenUsage};
use crate::supervise::{PenEvent, SupervisedEnd};
use crate::wire::{WireMessage, optional_os_path};

/// The largest report: a list of thousands of processes fits.
pub(crate) const MAX_REPORT: usize = 128 * 1024;
/// The largest request. A supervisor stays small, so it reads nothing longer.
pub(crate) const MAX_REQUEST: usize = 256;

/// A command, the pen for it, and how to end it.
#[derive(Debug, Serialize, Deserialize)]
pub struct PenLaunch {
    pub(crate) name: PenName,
    pub(crate) command: Command,
    /// The kind of pen. The default is [`PenKind::Auto`].
    pub kind: PenKind,
    /// How long processes may keep running after the agent's exit. The default is 2 s.
    pub linger: Duration,
    /// How long a stop waits between TERM and KILL. The default is 10 s.
    pub grace: Duration,
    /// Whether the streams are a terminal. Set when they are opened.
    pub(crate) terminal: bool,
    /// For tests: the number of the supervisor's call that fails, and its errno.
    #[doc(hidden)]
    pub fault: Option<(u32, i32)>,
}

impl PenLaunch {
    /// A launch of this command in a pen of this name.
    pub fn new(name: PenName, command: Command) -> Self {
        Self {
            name,
            command,
            kind: PenKind::default(),
            linger: Duration::from_secs(2),
            grace: Duration::from_secs(10),
            terminal: false,
            fault: None,
        }
    }
}

impl WireMessage for PenLaunch {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SupervisorRequest {
    /// The first request, sent with the [`PenLaunch`] in a memfd and the three streams.
    Launch,
    Open,
    Signal(i32),
    Stop(Option<Duration>),
    Kill,
    Processes,
    Usage,
    /// The program has read the last report, so the supervisor can exit.
    Release,
}

impl WireMessage for SupervisorRequest {}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum SupervisorReport {
    Event(SupervisorEvent),
    /// Nothing was started, or it is gone again.
    Failed(SupervisorFailure),
    Processes(Vec<PenProcess>),
    Usage(PenUsage),
}

impl WireMessage for SupervisorReport {}

/// Why nothing runs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum SupervisorFailure {
    Launch(LaunchError),
    /// The pen could not be created: the text of the error and its causes.
    Pen(String),
}

/// Something happened to a supervised pen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub enum SupervisorEvent {
    /// The process exists and waits for [`super::SupervisorHandle::open`].
    Born {
        /// The process.
        identity: ProcessIdentity,
        /// The folder of the pen's cgroup, if it has one.
        #[serde(with = "optional_os_path")]
        cgroup: Option<PathBuf>,
    },
    /// The process has become the program.
    Running,
    /// A stop or a kill was accepted and is under way.
    Ending,
    /// The supervising loop reports something.
    Pen(PenEvent),
    /// No process is left, and the pen is removed.
    Gone(SupervisedEnd),
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::program::ExecError;
    use crate::status::Status;
    use crate::wire::MalformedMessage;
    use kennel_sys::fault::CallError;
    use kennel_sys::identity::Birth;
    use kennel_types::Survivor;
    use proptest::prelude::*;

    #[test]
    fn every_request_survives_the_round_trip() {
        let requests = [
            SupervisorRequest::Launch,
            SupervisorRequest::Open,
            SupervisorRequest::Signal(15),
            SupervisorRequest::Stop(None),
            SupervisorRequest::Stop(Some(Duration::from_millis(1500))),
            SupervisorRequest::Kill,
            SupervisorRequest::Processes,
            SupervisorRequest::Usage,
            SupervisorRequest::Release,
        ];
        for request in requests {
            assert_eq!(SupervisorRequest::decode(&request.encode()), Ok(request));
        }
        assert_eq!(SupervisorRequest::decode(&[]), Err(MalformedMessage));
    }

    #[test]
    fn every_report_survives_the_round_trip() {
        let identity =
            ProcessIdentity { boot: "b".into(), pid_namespace: 4, pid: 7, birth: Birth::Tick(99) };
        let source = || io::Error::from_raw_os_error(2);
        let path = || PathBuf::from("/x/ü");
        let survivor = || Survivor { pid: 3, name: "s".into(), why: "killed".into() };
        let process = || PenProcess { pid: 1, name: "m".into(), state: 'S', dead: false };
        let launch = |error| SupervisorReport::Failed(SupervisorFailure::Launch(error));
        let status = Some(Status::Signal { signal: 9, core: true, oom: true });
        let end = SupervisedEnd { status, cpu: Duration::from_millis(3), folder_left: true };
        let events = [
            SupervisorEvent::Born { identity, cgroup: Some(path()) },
            SupervisorEvent::Running,
            SupervisorEvent::Ending,
            SupervisorEvent::Pen(PenEvent::Exited(Status::Code(3))),
            SupervisorEvent::Pen(PenEvent::Exited(Status::Unknown("gone".into()))),
            SupervisorEvent::Pen(PenEvent::LeftBehind(vec![process()])),
            SupervisorEvent::Pen(PenEvent::StillAlive(vec![survivor()])),
            SupervisorEvent::Pen(PenEvent::Trouble("t".into())),
            SupervisorEvent::Gone(end),
        ];
        let reports = [
            launch(ExecError::NotInPath { program: "p".into(), searched: "/bin".into() }.into()),
            launch(
                ExecError::File { path: path(), why: "not found".into(), source: source() }.into(),
            ),
            launch(ExecError::BadFolder { folder: path(), source: source() }.into()),
            launch(CallError::new("clone3", source()).on("it").into()),
            launch(LaunchError::Invalid("no".into())),
            launch(LaunchError::Occupied),
            launch(LaunchError::Died),
            launch(LaunchError::Pending { path: path() }),
            SupervisorReport::Failed(SupervisorFailure::Pen("no".into())),
            SupervisorReport::Processes(vec![process()]),
            SupervisorReport::Usage(PenUsage {
                cpu: Duration::from_secs(1),
                memory: 2,
                processes: 3,
            }),
        ];
        for report in events.into_iter().map(SupervisorReport::Event).chain(reports) {
            let again = SupervisorReport::decode(&report.encode()).expect("decoded");
            assert_eq!(format!("{again:?}"), format!("{report:?}"));
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _request = SupervisorRequest::decode(&bytes).is_ok();
            let _report = SupervisorReport::decode(&bytes).is_ok();
            let _launch = PenLaunch::decode(&bytes).is_ok();
        }
    }
}

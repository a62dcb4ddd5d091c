//! What a holder and its caller say to each other.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kennel_sys::fault::CallError;
use kennel_sys::identity::ProcessIdentity;

use crate::launch::LaunchError;
use crate::process::{PenProcess, PenUsage, Survivor};
use crate::program::ExecError;
use crate::status::Status;
use crate::wire::{
    Garbled, Reader, Writer, read_identity, read_member, read_status, read_survivor, read_usage,
    write_identity, write_member, write_status, write_survivor, write_usage,
};

/// The largest report; a list of thousands of members fits.
pub(crate) const LARGEST_REPORT: usize = 128 * 1024;
/// The largest request: the holder, which must stay small, reads nothing longer.
pub(crate) const LARGEST_REQUEST: usize = 256;

/// The caller asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// With the order in a memfd, the three streams, and maybe a terminal to restore.
    Launch,
    Open,
    Signal(i32),
    Stop(Option<Duration>),
    Kill,
    Members,
    Usage,
    /// The caller has what it needs: the holder may go.
    Release,
}

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Launch => out.u8(0),
            Self::Open => out.u8(1),
            Self::Signal(signal) => out.u8(2).i32(*signal),
            Self::Stop(grace) => out.u8(3).option(*grace, |out, grace| {
                out.duration(grace);
            }),
            Self::Kill => out.u8(4),
            Self::Members => out.u8(5),
            Self::Usage => out.u8(6),
            Self::Release => out.u8(7),
        };
        out.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut input = Reader(bytes);
        let request = match input.u8()? {
            0 => Self::Launch,
            1 => Self::Open,
            2 => Self::Signal(input.i32()?),
            3 => Self::Stop(input.option(Reader::duration)?),
            4 => Self::Kill,
            5 => Self::Members,
            6 => Self::Usage,
            7 => Self::Release,
            _ => return Err(Garbled),
        };
        input.end()?;
        Ok(request)
    }
}

/// The holder reports.
#[derive(Debug)]
pub(crate) enum Report {
    /// The process exists and waits; its pidfd comes along.
    Born {
        identity: ProcessIdentity,
        cgroup: Option<PathBuf>,
    },
    /// Nothing was started, or what was is gone.
    Failed(Failure),
    /// It is the program now.
    Running,
    /// A stop or kill was understood and is under way.
    Ending,
    /// The agent has ended.
    Exited(Status),
    /// The agent left these behind; they are told to end now.
    LeftBehind(Vec<PenProcess>),
    /// These could not be ended so far.
    StillAlive(Vec<Survivor>),
    /// Nobody is left, the pen is removed.
    Gone {
        status: Option<Status>,
        cpu: Duration,
    },
    Members(Vec<PenProcess>),
    Usage(PenUsage),
    /// Something failed that the caller should know of; the holder goes on.
    Trouble(String),
}

/// Why nothing runs.
#[derive(Debug)]
pub(crate) enum Failure {
    Launch(LaunchError),
    /// The pen could not be made: the text of the error and its causes.
    Pen(String),
}

impl Report {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Born { identity, cgroup } => {
                out.u8(0);
                write_identity(&mut out, identity);
                out.option(cgroup.as_deref(), |out, path| {
                    out.path(path);
                })
            }
            Self::Failed(Failure::Launch(error)) => {
                out.u8(1);
                write_launch_error(&mut out, error);
                &mut out
            }
            Self::Failed(Failure::Pen(text)) => out.u8(2).text(text),
            Self::Running => out.u8(3),
            Self::Ending => out.u8(4),
            Self::Exited(status) => {
                out.u8(5);
                write_status(&mut out, status);
                &mut out
            }
            Self::StillAlive(survivors) => out.u8(6).list(survivors, write_survivor),
            Self::Gone { status, cpu } => {
                out.u8(7).option(status.as_ref(), write_status).duration(*cpu)
            }
            Self::Members(members) => out.u8(8).list(members, write_member),
            Self::LeftBehind(members) => out.u8(11).list(members, write_member),
            Self::Usage(usage) => {
                out.u8(9);
                write_usage(&mut out, usage);
                &mut out
            }
            Self::Trouble(text) => out.u8(10).text(text),
        };
        out.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut input = Reader(bytes);
        let report = match input.u8()? {
            0 => Self::Born {
                identity: read_identity(&mut input)?,
                cgroup: input.option(Reader::path)?,
            },
            1 => Self::Failed(Failure::Launch(read_launch_error(&mut input)?)),
            2 => Self::Failed(Failure::Pen(input.text()?)),
            3 => Self::Running,
            4 => Self::Ending,
            5 => Self::Exited(read_status(&mut input)?),
            6 => Self::StillAlive(input.list(read_survivor)?),
            7 => Self::Gone { status: input.option(read_status)?, cpu: input.duration()? },
            8 => Self::Members(input.list(read_member)?),
            11 => Self::LeftBehind(input.list(read_member)?),
            9 => Self::Usage(read_usage(&mut input)?),
            10 => Self::Trouble(input.text()?),
            _ => return Err(Garbled),
        };
        input.end()?;
        Ok(report)
    }
}

/// Calls by name that can come over the wire: an error names its call by a static text.
const CALLS: &[&str] = &[
    "clone3",
    "close_range",
    "chdir",
    "dup",
    "execve",
    "flock",
    "fstatfs",
    "gate",
    "getdents",
    "mkdir",
    "mmap",
    "mprotect",
    "open",
    "open /dev/null",
    "open /dev/ptmx",
    "open cgroup.events",
    "open cgroup.kill",
    "pipe2",
    "prctl subreaper",
    "pidfd identity",
    "rmdir",
    "setrlimit",
    "setsid",
    "signalfd",
    "umask",
    "waitid",
    "write gate",
    "TIOCSCTTY",
];

fn write_launch_error(out: &mut Writer, error: &LaunchError) {
    match error {
        LaunchError::Exec(error) => {
            let (kind, path, more) = match error {
                ExecError::NotInPath { program, searched } => (0, program.into(), searched.clone()),
                ExecError::NotFound { path, .. } => (1, path.clone(), String::new()),
                ExecError::NotExecutable { path, .. } => (2, path.clone(), String::new()),
                ExecError::BadInterpreter { path, interpreter, .. } => {
                    (3, path.clone(), interpreter.to_string_lossy().into_owned())
                }
                ExecError::NotAProgram { path, .. } => (4, path.clone(), String::new()),
                ExecError::BadFolder { folder, .. } => (5, folder.clone(), String::new()),
                ExecError::Other { path, .. } => (6, path.clone(), String::new()),
            };
            out.u8(0).u8(kind).path(&path).text(&more).i32(error.errno())
        }
        LaunchError::Call(error) => out
            .u8(1)
            .text(error.call)
            .option(error.on.as_deref(), |out, on| {
                out.text(on);
            })
            .i32(error.errno().unwrap_or(0)),
        LaunchError::Nul { what, value } => out.u8(2).text(what).bytes(value.as_encoded_bytes()),
        LaunchError::VariableName { name } => out.u8(3).bytes(name.as_encoded_bytes()),
        LaunchError::Occupied => out.u8(4),
        LaunchError::Died => out.u8(5),
        LaunchError::Pending { path } => out.u8(6).path(path),
    };
}

fn read_launch_error(input: &mut Reader<'_>) -> Result<LaunchError, Garbled> {
    Ok(match input.u8()? {
        0 => {
            let (kind, path, more) = (input.u8()?, input.path()?, input.text()?);
            let source = io::Error::from_raw_os_error(input.i32()?);
            LaunchError::Exec(match kind {
                0 => {
                    let program = path.to_string_lossy().into_owned();
                    ExecError::NotInPath { program, searched: more }
                }
                1 => ExecError::NotFound { path, source },
                2 => ExecError::NotExecutable { path, source },
                3 => ExecError::BadInterpreter { path, interpreter: more.into(), source },
                4 => ExecError::NotAProgram { path, source },
                5 => ExecError::BadFolder { folder: path, source },
                6 => ExecError::Other { path, source },
                _ => return Err(Garbled),
            })
        }
        1 => {
            let name = input.text()?;
            let call = CALLS.iter().find(|call| **call == name).copied().unwrap_or("a system call");
            let on = input.option(Reader::text)?;
            LaunchError::Call(CallError {
                call,
                on,
                source: io::Error::from_raw_os_error(input.i32()?),
            })
        }
        2 => {
            let what = match input.text()?.as_str() {
                "variable" => "variable",
                "folder" => "folder",
                "program" => "program",
                _ => "argument",
            };
            LaunchError::Nul { what, value: input.os_string()? }
        }
        3 => LaunchError::VariableName { name: input.os_string()? },
        4 => LaunchError::Occupied,
        5 => LaunchError::Died,
        6 => LaunchError::Pending { path: input.path()? },
        _ => return Err(Garbled),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::SurvivalReason;
    use kennel_sys::identity::Birth;
    use proptest::prelude::*;

    #[test]
    fn every_request_survives_the_round_trip() {
        let requests = [
            Request::Launch,
            Request::Open,
            Request::Signal(15),
            Request::Stop(None),
            Request::Stop(Some(Duration::from_millis(1500))),
            Request::Kill,
            Request::Members,
            Request::Usage,
            Request::Release,
        ];
        for request in requests {
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
    }

    #[test]
    fn every_report_survives_the_round_trip() {
        let identity =
            ProcessIdentity { boot: "b".into(), pid_namespace: 4, pid: 7, birth: Birth::Tick(99) };
        let source = || io::Error::from_raw_os_error(2);
        let path = || PathBuf::from("/x/ü");
        let survivor = |why| Survivor { pid: 3, name: "s".into(), why };
        let launch = |error| Report::Failed(Failure::Launch(error));
        let status = Status::Signal { signal: 9, core: true, oom: true };
        let reports = vec![
            Report::Born { identity, cgroup: Some(path()) },
            launch(ExecError::NotInPath { program: "p".into(), searched: "/bin".into() }.into()),
            launch(ExecError::NotFound { path: path(), source: source() }.into()),
            launch(ExecError::NotExecutable { path: path(), source: source() }.into()),
            launch(
                ExecError::BadInterpreter { path: path(), interpreter: path(), source: source() }
                    .into(),
            ),
            launch(ExecError::NotAProgram { path: path(), source: source() }.into()),
            launch(ExecError::BadFolder { folder: path(), source: source() }.into()),
            launch(ExecError::Other { path: path(), source: source() }.into()),
            launch(CallError::new("clone3", source()).on("it").into()),
            launch(LaunchError::Nul { what: "argument", value: "a\0b".into() }),
            launch(LaunchError::VariableName { name: "a=b".into() }),
            launch(LaunchError::Occupied),
            launch(LaunchError::Died),
            launch(LaunchError::Pending { path: path() }),
            Report::Failed(Failure::Pen("no".into())),
            Report::Running,
            Report::Ending,
            Report::Exited(Status::Code(3)),
            Report::Exited(Status::Unknown("gone".into())),
            Report::StillAlive(vec![
                survivor(SurvivalReason::NotPermitted { uid: 5 }),
                survivor(SurvivalReason::Uninterruptible),
                survivor(SurvivalReason::Ending),
            ]),
            Report::Gone { status: Some(status), cpu: Duration::from_millis(3) },
            Report::LeftBehind(vec![PenProcess {
                pid: 1,
                name: "m".into(),
                state: 'S',
                dead: false,
            }]),
            Report::Members(vec![PenProcess { pid: 1, name: "m".into(), state: 'S', dead: false }]),
            Report::Usage(PenUsage { cpu: Duration::from_secs(1), memory: 2, processes: 3 }),
            Report::Trouble("t".into()),
        ];
        for report in reports {
            let again = Report::decode(&report.encode()).expect("understood");
            assert_eq!(format!("{again:?}"), format!("{report:?}"));
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _refused_or_not = (Request::decode(&bytes).is_ok(), Report::decode(&bytes).is_ok());
            let _refused_or_not = super::super::order::Received::decode(&bytes).is_ok();
        }
    }
}

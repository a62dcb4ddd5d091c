//! What to run, with which environment and streams.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use kennel_sys::clone::ResourceLimit;
use kennel_sys::fault::{CallError, call};
use kennel_sys::terminal::{self, Size};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;
use serde::{Deserialize, Serialize};

use crate::wire::optional_os_path;

/// One of the three standard streams of a command.
#[derive(Debug, Default)]
pub enum StdStream {
    /// `/dev/null`.
    #[default]
    Null,
    /// The caller's own stream of the same kind.
    Inherit,
    /// A new pipe; the caller gets the other end.
    Pipe,
    /// An open file, socket or pipe.
    File(OwnedFd),
}

/// All three streams.
#[derive(Debug)]
pub enum StdStreams {
    /// Each stream on its own.
    Each {
        /// Standard input.
        stdin: StdStream,
        /// Standard output.
        stdout: StdStream,
        /// Standard error.
        stderr: StdStream,
    },
    /// A new pseudo-terminal, which becomes the controlling terminal of the command's session.
    Terminal {
        /// Its size.
        size: Size,
        /// Standard error, if it is not the terminal.
        stderr: Option<StdStream>,
    },
}

impl Default for StdStreams {
    fn default() -> Self {
        Self::Each { stdin: StdStream::Null, stdout: StdStream::Null, stderr: StdStream::Null }
    }
}

/// A command with its arguments, environment and streams. No shell is involved, and nothing is
/// taken from the caller's environment unless it is set here.
///
/// ```
/// use kennel_pen::{Command, StdStream, StdStreams};
///
/// let mut command = Command::new("git");
/// command.arg("status").env("PATH", "/usr/bin:/bin").folder("/tmp").streams(StdStreams::Each {
///     stdin: StdStream::Null,
///     stdout: StdStream::Pipe,
///     stderr: StdStream::Inherit,
/// });
/// ```
#[derive(Debug, Serialize, Deserialize)]
pub struct Command {
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    #[serde(with = "optional_os_path")]
    pub(crate) folder: Option<PathBuf>,
    pub(crate) umask: Option<u32>,
    pub(crate) limits: Vec<ResourceLimit>,
    /// Streams are descriptors, which are sent beside the message.
    #[serde(skip)]
    pub(crate) streams: StdStreams,
}

impl Command {
    /// Creates a command for this program: a path, or a name looked up in the `PATH` of the
    /// command's own environment.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            argv: vec![program.into()],
            env: Vec::new(),
            folder: None,
            umask: None,
            limits: Vec::new(),
            streams: StdStreams::default(),
        }
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl Into<OsString>) -> &mut Self {
        self.argv.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(&mut self, args: impl IntoIterator<Item = A>) -> &mut Self {
        self.argv.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the command's environment, which is empty at first.
    pub fn env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        let name = name.into();
        self.env.retain(|(other, _)| *other != name);
        self.env.push((name, value.into()));
        self
    }

    /// Sets several variables. The environment of the caller is `std::env::vars_os()`.
    pub fn envs<N: Into<OsString>, V: Into<OsString>>(
        &mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> &mut Self {
        for (name, value) in variables {
            self.env(name, value);
        }
        self
    }

    /// Sets the folder to start in. The default is that of the launching process.
    pub fn folder(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the umask. The default is that of the launching process.
    pub fn umask(&mut self, umask: u32) -> &mut Self {
        self.umask = Some(umask);
        self
    }

    /// Sets a resource limit.
    pub fn limit(&mut self, limit: ResourceLimit) -> &mut Self {
        self.limits.push(limit);
        self
    }

    /// Sets the streams. By default all are null.
    pub fn streams(&mut self, streams: StdStreams) -> &mut Self {
        self.streams = streams;
        self
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_os_str())
    }
}

/// The caller's ends of the streams that were requested as pipes or as a terminal.
#[derive(Debug, Default)]
pub struct CallerEnds {
    /// Write the command's input here.
    pub stdin: Option<OwnedFd>,
    /// Read the command's output here.
    pub stdout: Option<OwnedFd>,
    /// Read the command's errors here.
    pub stderr: Option<OwnedFd>,
    /// Read and write here, if the command has a terminal.
    pub terminal: Option<OwnedFd>,
}

/// The command's ends, to be placed at descriptors 0, 1 and 2.
#[derive(Debug)]
pub(crate) struct AgentEnds {
    pub(crate) streams: [AgentEnd; 3],
    pub(crate) terminal: bool,
}

/// One stream: opened for the command, or shared with the caller.
#[derive(Debug)]
pub(crate) enum AgentEnd {
    Opened(OwnedFd),
    Shared(BorrowedFd<'static>),
}

impl AsFd for AgentEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Opened(fd) => fd.as_fd(),
            Self::Shared(fd) => *fd,
        }
    }
}

impl AgentEnds {
    pub(crate) fn borrow(&self) -> [BorrowedFd<'_>; 3] {
        let [stdin, stdout, stderr] = &self.streams;
        [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]
    }
}

/// Opens both ends of all streams. On failure nothing stays open.
pub(crate) fn open_streams(streams: StdStreams) -> Result<(AgentEnds, CallerEnds), CallError> {
    match streams {
        StdStreams::Terminal { size, stderr } => {
            let pty = terminal::open(size)?;
            let (stdin, stdout) = (call("dup", || pty.slave.try_clone())?, pty.slave);
            let (agent_err, stderr) = match stderr {
                None => (AgentEnd::Opened(call("dup", || stdout.try_clone())?), None),
                Some(stream) => open_stream(stream, Direction::FromAgent, rustix::stdio::stderr())?,
            };
            let [stdin, stdout] = [stdin, stdout].map(AgentEnd::Opened);
            let agent = AgentEnds { streams: [stdin, stdout, agent_err], terminal: true };
            let terminal = Some(pty.master);
            Ok((agent, CallerEnds { stderr, terminal, ..CallerEnds::default() }))
        }
        StdStreams::Each { stdin, stdout, stderr } => {
            let (agent_in, stdin) = open_stream(stdin, Direction::ToAgent, rustix::stdio::stdin())?;
            let (agent_out, stdout) =
                open_stream(stdout, Direction::FromAgent, rustix::stdio::stdout())?;
            let (agent_err, stderr) =
                open_stream(stderr, Direction::FromAgent, rustix::stdio::stderr())?;
            let agent = AgentEnds { streams: [agent_in, agent_out, agent_err], terminal: false };
            Ok((agent, CallerEnds { stdin, stdout, stderr, terminal: None }))
        }
    }
}

pub(crate) fn open_null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

enum Direction {
    ToAgent,
    FromAgent,
}

fn open_stream(
    stream: StdStream,
    direction: Direction,
    own: BorrowedFd<'static>,
) -> Result<(AgentEnd, Option<OwnedFd>), CallError> {
    match stream {
        StdStream::File(fd) => Ok((AgentEnd::Opened(fd), None)),
        StdStream::Inherit => Ok((AgentEnd::Shared(own), None)),
        StdStream::Null => Ok((AgentEnd::Opened(call("open /dev/null", open_null)?), None)),
        StdStream::Pipe => {
            let (reader, writer) = call("pipe2", || rustix::pipe::pipe_with(PipeFlags::CLOEXEC))?;
            Ok(match direction {
                Direction::ToAgent => (AgentEnd::Opened(reader), Some(writer)),
                Direction::FromAgent => (AgentEnd::Opened(writer), Some(reader)),
            })
        }
    }
}

//! Starts a command in a pen, in two steps: [`Pen::launch`] creates a process that waits at a gate;
//! [`GatedAgent::open`] lets it become the program. In between, its identity can be recorded.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kennel_sys::clone::{self, ChildError, ChildSpec, GateOutcome};
use kennel_sys::fault::{CallError, call};
use kennel_sys::identity::ProcessIdentity;
use kennel_sys::reap;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use serde::{Deserialize, Serialize};

use crate::cgroup::Cgroup;
use crate::command::{AgentEnds, CallerEnds, Command, open_streams};
use crate::name::PenName;
use crate::pen::{Pen, PenAgent, poll};
use crate::program::{self, ExecError};
use crate::wire::os_path;

/// The variable with the home's id, in the environment of every agent.
pub const HOME_COOKIE: &str = "KENNEL_HOME_ID";
/// The variable with the session's id, in the environment of every agent.
pub const SESSION_COOKIE: &str = "KENNEL_SESSION_ID";

/// How long to wait for the exit of a process that was dismissed or has failed. It takes
/// microseconds; if it takes longer, the pen reaps it later.
const EXIT_WAIT: Duration = Duration::from_millis(200);

/// Why a command could not be started. What was created for it is gone, or owned by the pen.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum LaunchError {
    /// The program can't be executed.
    #[error("can't start the program")]
    Exec(#[from] ExecError),
    /// A call of Kennel itself failed.
    #[error("can't start the program")]
    Call(#[from] CallError),
    /// An argument, a variable or a path can't be passed to a program.
    #[error("{0}")]
    Invalid(String),
    /// The pen already has an agent.
    #[error("the pen already has an agent")]
    Occupied,
    /// The process was killed before it became the program.
    #[error("the process was killed before it ran the program")]
    Died,
    /// The program could not be loaded in time, for instance from a file system that hangs.
    #[error("{path} could not be loaded in time")]
    Pending {
        /// The file.
        #[serde(with = "os_path")]
        path: PathBuf,
    },
}

/// An identified process that waits. [`GatedAgent::open`] lets it run; dropping this ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub struct GatedAgent<'p> {
    pen: &'p mut Pen,
    /// Taken by `open`; otherwise ended on drop.
    process: Option<clone::GatedChild>,
    identity: ProcessIdentity,
    path: PathBuf,
    folder: Option<PathBuf>,
    /// The caller's ends of the streams.
    pub ends: CallerEnds,
}

impl Pen {
    /// Creates the process of a command, which waits behind its gate.
    pub fn launch(&mut self, mut command: Command) -> Result<GatedAgent<'_>, LaunchError> {
        let (agent, caller) = open_streams(std::mem::take(&mut command.streams))?;
        self.launch_with(&command, agent, caller)
    }

    pub(crate) fn launch_with(
        &mut self,
        command: &Command,
        agent: AgentEnds,
        ends: CallerEnds,
    ) -> Result<GatedAgent<'_>, LaunchError> {
        if self.agent.is_some() {
            return Err(LaunchError::Occupied);
        }
        let folder = command.folder.as_deref();
        let path = program::find(&command.argv[0], command.variable("PATH"), folder)?;
        let cgroup = self.cgroup.as_ref().map(Cgroup::folder);
        let process = clone::start(start(command, &self.name, &path, &agent, cgroup)?)?;
        drop(agent); // the process has its own copies, and the caller's would keep pipes open
        let pid = process.pid().as_raw_pid();
        // On failure `process` is dropped: its gate closes, and the pen reaps it.
        let identity = call("pidfd identity", || ProcessIdentity::new(process.pidfd(), pid));
        let identity = identity.map_err(|error| error.on(pid))?;
        let folder = folder.map(ToOwned::to_owned);
        Ok(GatedAgent { pen: self, process: Some(process), identity, path, folder, ends })
    }
}

fn start<'a>(
    command: &Command,
    name: &PenName,
    path: &std::path::Path,
    agent: &'a AgentEnds,
    cgroup: Option<BorrowedFd<'a>>,
) -> Result<ChildSpec<'a>, LaunchError> {
    let cookie = [(HOME_COOKIE, name.home.as_str()), (SESSION_COOKIE, name.session.as_str())];
    let mut env = Vec::with_capacity(command.env.len() + cookie.len());
    for (variable, value) in &command.env {
        if cookie.iter().any(|(cookie, _)| variable == cookie) {
            continue; // inherited from an outer session; this session's cookie replaces it
        }
        if variable.is_empty() || variable.as_encoded_bytes().contains(&b'=') {
            let text = format!("invalid variable name {variable:?}: expected a name without =");
            return Err(LaunchError::Invalid(text));
        }
        let mut pair = variable.clone();
        pair.push("=");
        pair.push(value);
        env.push(c_string("variable", &pair)?);
    }
    for (variable, value) in cookie {
        env.push(c_string("variable", format!("{variable}={value}").as_ref())?);
    }
    let argv = command.argv.iter().map(|arg| c_string("argument", arg));
    Ok(ChildSpec {
        path: c_string("program", path.as_os_str())?,
        argv: argv.collect::<Result<_, _>>()?,
        env,
        folder: command
            .folder
            .as_ref()
            .map(|path| c_string("folder", path.as_ref()))
            .transpose()?,
        umask: command.umask,
        limits: command.limits.clone(),
        streams: agent.borrow(),
        terminal: agent.terminal,
        cgroup,
    })
}

fn c_string(what: &str, text: &OsStr) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes())
        .map_err(|_| LaunchError::Invalid(format!("{what} {text:?} has a NUL byte in it")))
}

impl GatedAgent<'_> {
    /// Returns the process.
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Returns a pidfd of the process.
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.process.as_ref().map(clone::GatedChild::pidfd)
    }

    /// Opens the gate: the process becomes the program. Returns the caller's ends of its streams.
    ///
    /// # Errors
    /// The program can't be executed, or the deadline passed. No process of it is left, or the pen
    /// owns it until it can be reaped.
    pub fn open(mut self, deadline: Instant) -> Result<CallerEnds, LaunchError> {
        let Some(process) = self.process.take() else {
            return Err(LaunchError::Died);
        };
        match process.open(deadline)? {
            GateOutcome::Running(pidfd) => {
                let identity = self.identity.clone();
                self.pen.agent = Some(PenAgent { pidfd, identity, status: None });
                Ok(std::mem::take(&mut self.ends))
            }
            GateOutcome::Failed(pidfd, error) => {
                reap_shortly(&pidfd);
                Err(self.explain(error))
            }
            GateOutcome::Died(pidfd) => {
                reap_shortly(&pidfd);
                Err(LaunchError::Died)
            }
            GateOutcome::Pending(_) => Err(LaunchError::Pending { path: self.path.clone() }),
        }
    }

    fn explain(&self, failed: ChildError) -> LaunchError {
        let source = failed.error.source;
        if failed.at_exec {
            return program::explain(&self.path, self.folder.as_deref(), source).into();
        }
        match &self.folder {
            Some(folder) if failed.at_folder => {
                ExecError::BadFolder { folder: folder.clone(), source }.into()
            }
            _ => LaunchError::Call(CallError { source, ..failed.error }),
        }
    }
}

impl Drop for GatedAgent<'_> {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            reap_shortly(&process.dismiss());
        }
    }
}

/// Reaps a process that is exiting. If that takes too long, the pen reaps it later.
pub(crate) fn reap_shortly(pidfd: &OwnedFd) {
    let deadline = Some(Instant::now() + EXIT_WAIT);
    let waited = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], deadline);
    if waited.is_ok() {
        let _later: io::Result<_> = reap::reap(pidfd.as_fd());
    }
}

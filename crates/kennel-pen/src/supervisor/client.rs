//! The program's side of a supervisor.

use std::collections::VecDeque;
use std::ffi::{CString, OsStr};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kennel_sys::clone::{self, ChildSpec, GateOutcome};
use kennel_sys::fault::{CallError, call};
use kennel_sys::identity::ProcessIdentity;
use kennel_sys::reap;
use kennel_types::PenKind;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::process::Signal;

use super::EXEC;
use super::message::{
    MAX_REPORT, PenLaunch, SupervisorEvent, SupervisorFailure, SupervisorReport, SupervisorRequest,
};
use super::role::{SUPERVISOR, SUPERVISOR_OF_NAMESPACE};
use crate::command::{AgentEnds, CallerEnds, open_null, open_streams};
use crate::launch::LaunchError;
use crate::name::PenName;
use crate::pen::{Woken, poll};
use crate::process::{PenProcess, PenUsage};
use crate::supervise::SupervisedEnd;
use crate::wire::{Channel, Delivery, MalformedMessage, Received, WireMessage};

/// Why a supervisor did not do what was requested.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The command could not be started. Nothing of it is left.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The pen could not be created. Nothing is left.
    #[error("{0}")]
    Pen(String),
    /// A call in this process failed.
    #[error("can't reach the supervisor")]
    Call(#[from] CallError),
    /// The supervisor itself could not be started.
    #[error("can't start the supervisor {program}")]
    Start {
        /// Its program.
        program: PathBuf,
        /// The call that failed.
        source: CallError,
    },
    /// The supervisor has died. Its processes are reparented to the nearest subreaper, or to init.
    /// A cgroup keeps them together: end them with [`crate::HostSupport::leftovers`].
    #[error("the supervisor has died")]
    Died,
    /// The supervisor did not answer in time. It still owns its pen.
    #[error("the supervisor does not answer")]
    Silent,
    /// The supervisor sent something unexpected.
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
}

impl From<SupervisorFailure> for SupervisorError {
    fn from(failure: SupervisorFailure) -> Self {
        match failure {
            SupervisorFailure::Launch(error) => Self::Launch(error),
            SupervisorFailure::Pen(text) => Self::Pen(text),
        }
    }
}

/// The program that runs as the supervisor.
#[derive(Debug, Clone)]
pub struct SupervisorProgram {
    path: PathBuf,
}

impl SupervisorProgram {
    /// Uses this program itself, whose `main` begins with [`super::run_if_supervisor`]. It is found
    /// through `/proc/self/exe`, so it does not matter if the file was replaced.
    pub fn this_one() -> Self {
        Self { path: "/proc/self/exe".into() }
    }

    /// Uses another program whose `main` begins with [`super::run_if_supervisor`].
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Starts a supervisor that creates the process, which waits behind its gate.
    ///
    /// # Errors
    /// See [`SupervisorError`]. Nothing is left then, or the supervisor ends it.
    pub fn launch(
        &self,
        launch: PenLaunch,
        deadline: Instant,
    ) -> Result<GatedLaunch, SupervisorError> {
        let (mut handle, ends) = self.begin(launch)?;
        match handle.next_event(deadline)?.ok_or(SupervisorError::Silent)? {
            SupervisorEvent::Born { .. } => Ok(GatedLaunch { handle, ends }),
            _ => Err(MalformedMessage.into()),
        }
    }

    /// Starts a supervisor and sends it the launch: the first step of [`Self::launch`], for
    /// programs that do other work meanwhile. [`SupervisorEvent::Born`] is the next event. Then
    /// call [`SupervisorHandle::open`], and [`SupervisorEvent::Running`] follows.
    ///
    /// # Errors
    /// See [`SupervisorError`]. Nothing is left then.
    pub fn begin(
        &self,
        mut launch: PenLaunch,
    ) -> Result<(SupervisorHandle, CallerEnds), SupervisorError> {
        reap_supervisors();
        let command = &mut launch.command;
        if command.folder.as_ref().is_none_or(|folder| folder.is_relative()) {
            let here = call("getcwd", std::env::current_dir)?;
            command.folder = Some(here.join(command.folder.take().unwrap_or_default()));
        }
        let (agent, ends) = open_streams(std::mem::take(&mut command.streams))?;
        launch.terminal = agent.terminal;
        let (socket, theirs) = call("socketpair", Channel::pair)?;
        let process = self.spawn(&launch, theirs.as_fd())?;
        drop(theirs);
        let handle = SupervisorHandle {
            channel: Channel::new(socket, MAX_REPORT),
            process: Some(process),
            name: launch.name.clone(),
            agent: None,
            cgroup: None,
            reports: VecDeque::new(),
            over: false,
        };
        handle.send_launch(&launch, &agent)?;
        Ok((handle, ends))
    }

    fn spawn(
        &self,
        launch: &PenLaunch,
        socket: BorrowedFd<'_>,
    ) -> Result<OwnedFd, SupervisorError> {
        let failed = |source| SupervisorError::Start { program: self.path.clone(), source };
        let null = call("open /dev/null", open_null)?;
        let role = if launch.kind == PenKind::Pidns { SUPERVISOR_OF_NAMESPACE } else { SUPERVISOR };
        let c_string = |text: &OsStr| {
            CString::new(text.as_bytes())
                .map_err(|_| failed(CallError::new("execve", rustix::io::Errno::INVAL)))
        };
        let argv = vec![c_string(role.as_ref())?, c_string(launch.name.to_string().as_ref())?];
        let streams = [socket, null.as_fd(), null.as_fd()];
        let spec = ChildSpec::new(c_string(self.path.as_os_str())?, argv, streams);
        let opened = clone::start(spec).map_err(failed)?.open(Instant::now() + EXEC);
        let (pidfd, error) = match opened.map_err(failed)? {
            GateOutcome::Running(pidfd) => return Ok(pidfd),
            GateOutcome::Failed(pidfd, error) => (pidfd, failed(error.error)),
            GateOutcome::Died(pidfd) => (pidfd, SupervisorError::Died),
            GateOutcome::Pending(pidfd) => (pidfd, SupervisorError::Silent),
        };
        reap_later(pidfd);
        Err(error)
    }
}

/// Supervisors whose handle was dropped. They exit by themselves, and are reaped later.
static ENDING: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

fn reap_later(supervisor: OwnedFd) {
    ENDING.lock().unwrap_or_else(PoisonError::into_inner).push(supervisor);
}

/// Reaps supervisors whose handle was dropped and that have exited. Returns how many have not.
/// Every launch does this too, so only a program that launches no more needs to call it.
pub fn reap_supervisors() -> usize {
    let mut ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    // An error means that it is not a child any more: another part of this program has reaped it.
    ending.retain(|supervisor| matches!(reap::reap(supervisor.as_fd()), Ok(None)));
    ending.len()
}

/// An agent's process that exists and waits behind its gate. Dropping this ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub struct GatedLaunch {
    pub(crate) handle: SupervisorHandle,
    /// This program's ends of the agent's streams.
    pub ends: CallerEnds,
}

impl GatedLaunch {
    /// Returns the agent's process.
    pub fn identity(&self) -> &ProcessIdentity {
        // A GatedLaunch is only created from the event `Born`.
        self.handle.agent.as_ref().expect("a gated process was born")
    }

    /// Returns the name of the pen.
    pub fn name(&self) -> &PenName {
        &self.handle.name
    }

    /// Opens the gate: the process becomes the program.
    ///
    /// # Errors
    /// See [`SupervisorError`]. Nothing of the command is left then.
    pub fn open(self, deadline: Instant) -> Result<SupervisorHandle, SupervisorError> {
        self.open_with_ends(deadline).map(|(handle, _)| handle)
    }

    /// As [`Self::open`], and also returns this program's ends of the agent's streams.
    pub fn open_with_ends(
        mut self,
        deadline: Instant,
    ) -> Result<(SupervisorHandle, CallerEnds), SupervisorError> {
        self.handle.open()?;
        match self.handle.next_event(deadline)?.ok_or(SupervisorError::Silent)? {
            SupervisorEvent::Running => Ok((self.handle, self.ends)),
            _ => Err(MalformedMessage.into()),
        }
    }
}

/// A pen that a supervisor owns. Dropping this makes the supervisor end everything in it.
#[derive(Debug)]
pub struct SupervisorHandle {
    pub(crate) channel: Channel,
    process: Option<OwnedFd>,
    name: PenName,
    agent: Option<ProcessIdentity>,
    cgroup: Option<PathBuf>,
    /// Reports that arrived while an answer was awaited.
    pub(crate) reports: VecDeque<SupervisorReport>,
    /// Whether nothing of the pen is left: it was removed, or nothing was ever run.
    over: bool,
}

impl SupervisorHandle {
    fn send_launch(&self, launch: &PenLaunch, agent: &AgentEnds) -> Result<(), SupervisorError> {
        let memfd = call("memfd_create", || {
            rustix::fs::memfd_create("kennel-launch", MemfdFlags::CLOEXEC)
        })?;
        let mut file = std::fs::File::from(memfd);
        call("write memfd", || file.write_all(&launch.encode()))?;
        let [stdin, stdout, stderr] = agent.borrow();
        let descriptors = [file.as_fd(), stdin, stdout, stderr];
        let request = SupervisorRequest::Launch.encode();
        match call("sendmsg", || self.channel.send(&request, &descriptors))? {
            Delivery::Sent => Ok(()),
            Delivery::Full | Delivery::Closed => Err(SupervisorError::Died),
        }
    }

    /// Returns the name of the pen.
    pub fn name(&self) -> &PenName {
        &self.name
    }

    /// Returns the agent's process, once it was born.
    pub fn identity(&self) -> Option<&ProcessIdentity> {
        self.agent.as_ref()
    }

    /// Returns the folder of the pen's cgroup, if it has one.
    pub fn cgroup_path(&self) -> Option<&Path> {
        self.cgroup.as_deref()
    }

    pub(crate) fn request(&self, request: &SupervisorRequest) -> Result<(), SupervisorError> {
        match call("sendmsg", || self.channel.send(&request.encode(), &[]))? {
            Delivery::Sent => Ok(()),
            Delivery::Full => Err(SupervisorError::Silent),
            Delivery::Closed => Err(SupervisorError::Died),
        }
    }

    pub(crate) fn receive(&mut self) -> Result<Option<SupervisorReport>, SupervisorError> {
        match call("recvmsg", || self.channel.receive())? {
            Received::Nothing => Ok(None),
            Received::End => Err(SupervisorError::Died),
            Received::Message(bytes, _) => Ok(Some(SupervisorReport::decode(&bytes)?)),
        }
    }

    fn next_report(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<SupervisorReport>, SupervisorError> {
        loop {
            if let Some(report) = self.receive()? {
                return Ok(Some(report));
            }
            let ready = &mut [PollFd::new(&self.channel, PollFlags::IN)];
            if call("poll", || poll(ready, Some(deadline)))? == Woken::Deadline {
                return Ok(None);
            }
        }
    }

    /// Turns a report into an event, and records what follows from it.
    pub(crate) fn event(
        &mut self,
        report: SupervisorReport,
    ) -> Result<SupervisorEvent, SupervisorError> {
        let event = match report {
            SupervisorReport::Event(event) => event,
            SupervisorReport::Failed(failure) => {
                self.over = true;
                return Err(failure.into());
            }
            SupervisorReport::Processes(_) | SupervisorReport::Usage(_) => {
                return Err(MalformedMessage.into());
            }
        };
        match &event {
            SupervisorEvent::Born { identity, cgroup } => {
                self.agent = Some(identity.clone());
                self.cgroup.clone_from(cgroup);
            }
            SupervisorEvent::Gone(_) => {
                self.over = true;
                // The supervisor exits now. If this can't be sent, it sees the socket close.
                self.request(&SupervisorRequest::Release).ok();
            }
            _ => {}
        }
        Ok(event)
    }

    /// Returns the next event before the deadline. The socket is readable when there is one.
    ///
    /// # Errors
    /// [`SupervisorError::Died`] if the supervisor has died before the pen was gone.
    pub fn next_event(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<SupervisorEvent>, SupervisorError> {
        if let Some(report) = self.reports.pop_front() {
            return self.event(report).map(Some);
        }
        self.next_report(deadline)?.map(|report| self.event(report)).transpose()
    }

    /// Waits until no process is left. Returns nothing if the deadline passes first.
    pub fn wait_gone(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<SupervisedEnd>, SupervisorError> {
        loop {
            match self.next_event(deadline)? {
                Some(SupervisorEvent::Gone(end)) => return Ok(Some(end)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Lets the process become the program, once it was born.
    pub fn open(&self) -> Result<(), SupervisorError> {
        self.request(&SupervisorRequest::Open)
    }

    /// Requests the end: TERM to every process, KILL after `grace`, or after the grace of the
    /// launch. The supervisor carries it out even if this process dies.
    pub fn stop(&self, grace: Option<Duration>) -> Result<(), SupervisorError> {
        self.request(&SupervisorRequest::Stop(grace))
    }

    /// Requests the end at once.
    pub fn kill(&self) -> Result<(), SupervisorError> {
        self.request(&SupervisorRequest::Kill)
    }

    /// Sends a signal to every process in the pen.
    pub fn signal(&self, signal: Signal) -> Result<(), SupervisorError> {
        self.request(&SupervisorRequest::Signal(signal.as_raw()))
    }

    /// Lists the processes in the pen.
    pub fn processes(&mut self, deadline: Instant) -> Result<Vec<PenProcess>, SupervisorError> {
        self.request(&SupervisorRequest::Processes)?;
        loop {
            match self.next_report(deadline)?.ok_or(SupervisorError::Silent)? {
                SupervisorReport::Processes(processes) => return Ok(processes),
                other => self.keep(other)?,
            }
        }
    }

    /// Returns what the pen uses and has used.
    pub fn usage(&mut self, deadline: Instant) -> Result<PenUsage, SupervisorError> {
        self.request(&SupervisorRequest::Usage)?;
        loop {
            match self.next_report(deadline)?.ok_or(SupervisorError::Silent)? {
                SupervisorReport::Usage(usage) => return Ok(usage),
                other => self.keep(other)?,
            }
        }
    }

    /// Keeps a report for [`Self::next_event`]. A pen that is gone answers no more requests.
    pub(crate) fn keep(&mut self, report: SupervisorReport) -> Result<(), SupervisorError> {
        let gone = matches!(report, SupervisorReport::Event(SupervisorEvent::Gone(_)));
        self.reports.push_back(report);
        if gone { Err(SupervisorError::Silent) } else { Ok(()) }
    }
}

impl AsFd for SupervisorHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl Drop for SupervisorHandle {
    fn drop(&mut self) {
        if let Some(supervisor) = self.process.take() {
            if self.over {
                // It only has to exit, which takes microseconds.
                const EXITING: Duration = Duration::from_secs(1);
                let deadline = Some(Instant::now() + EXITING);
                poll(&mut [PollFd::new(&supervisor, PollFlags::IN)], deadline).ok();
            }
            reap_later(supervisor);
            reap_supervisors();
        }
    }
}

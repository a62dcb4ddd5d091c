//! The program's side of a supervisor, for async programs.
//!
//! Every future here may be dropped at any point: the supervisor then sees its socket close and
//! ends what was launched. Limit waits with `tokio::time::timeout`.

use std::io;

use kennel_sys::fault::{CallError, call};
use kennel_sys::identity::ProcessIdentity;
use rustix::fd::AsFd;
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::client::{SupervisorError, SupervisorHandle, SupervisorProgram};
use super::message::{PenLaunch, SupervisorEvent, SupervisorReport, SupervisorRequest};
use crate::command::CallerEnds;
use crate::process::{PenProcess, PenUsage};
use crate::supervise::SupervisedEnd;
use crate::wire::MalformedMessage;

impl SupervisorProgram {
    /// As [`SupervisorProgram::launch`], without blocking the runtime.
    pub async fn launch_async(
        &self,
        launch: PenLaunch,
    ) -> Result<AsyncGatedLaunch, SupervisorError> {
        let program = self.clone();
        // This waits for the exec of the supervisor. If the future is dropped, so is the handle.
        let started = tokio::task::spawn_blocking(move || program.begin(launch)).await;
        let (handle, ends) =
            started.map_err(|error| CallError::new("spawn", io::Error::other(error)))??;
        let mut handle = AsyncSupervisorHandle::new(handle)?;
        match handle.next_event().await? {
            SupervisorEvent::Born { .. } => Ok(AsyncGatedLaunch { handle, ends }),
            _ => Err(MalformedMessage.into()),
        }
    }
}

/// As [`super::GatedLaunch`].
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub struct AsyncGatedLaunch {
    handle: AsyncSupervisorHandle,
    /// This program's ends of the agent's streams.
    pub ends: CallerEnds,
}

impl AsyncGatedLaunch {
    /// Returns the agent's process.
    pub fn identity(&self) -> Option<&ProcessIdentity> {
        self.handle.handle.identity()
    }

    /// Opens the gate: the process becomes the program.
    ///
    /// # Errors
    /// See [`SupervisorError`]. Nothing of the command is left then.
    pub async fn open(mut self) -> Result<(AsyncSupervisorHandle, CallerEnds), SupervisorError> {
        self.handle.handle.open()?;
        match self.handle.next_event().await? {
            SupervisorEvent::Running => Ok((self.handle, self.ends)),
            _ => Err(MalformedMessage.into()),
        }
    }
}

/// As [`SupervisorHandle`]. Dropping this makes the supervisor end everything in the pen.
#[derive(Debug)]
pub struct AsyncSupervisorHandle {
    handle: SupervisorHandle,
    /// A second descriptor of the socket, by which the runtime knows when to read.
    socket: UnixStream,
}

impl AsyncSupervisorHandle {
    fn new(handle: SupervisorHandle) -> Result<Self, SupervisorError> {
        let copy = call("dup", || handle.as_fd().try_clone_to_owned())?;
        let socket = call("epoll_ctl", || UnixStream::from_std(copy.into()))?;
        Ok(Self { handle, socket })
    }

    async fn next_report(&mut self) -> Result<SupervisorReport, SupervisorError> {
        loop {
            let ready = self.socket.readable().await;
            ready.map_err(|error| CallError::new("epoll_wait", error))?;
            let mut outcome = Ok(None);
            // The runtime learns from the result whether there was nothing to read.
            let read = self.socket.try_io(Interest::READABLE, || {
                outcome = self.handle.receive();
                if matches!(outcome, Ok(None)) {
                    Err(io::ErrorKind::WouldBlock.into())
                } else {
                    Ok(())
                }
            });
            debug_assert!(read.is_ok() || matches!(outcome, Ok(None)), "only our own would-block");
            if let Some(report) = outcome? {
                return Ok(report);
            }
        }
    }

    /// Returns the blocking handle, for requests that need no waiting: stop, kill, signal.
    pub fn handle(&self) -> &SupervisorHandle {
        &self.handle
    }

    /// Returns the next event. No event is lost if the future is dropped.
    pub async fn next_event(&mut self) -> Result<SupervisorEvent, SupervisorError> {
        let report = match self.handle.reports.pop_front() {
            Some(report) => report,
            None => self.next_report().await?,
        };
        self.handle.event(report)
    }

    /// Waits until no process is left.
    pub async fn wait_gone(&mut self) -> Result<SupervisedEnd, SupervisorError> {
        loop {
            if let SupervisorEvent::Gone(end) = self.next_event().await? {
                return Ok(end);
            }
        }
    }

    /// As [`SupervisorHandle::processes`].
    pub async fn processes(&mut self) -> Result<Vec<PenProcess>, SupervisorError> {
        self.handle.request(&SupervisorRequest::Processes)?;
        loop {
            match self.next_report().await? {
                SupervisorReport::Processes(processes) => return Ok(processes),
                other => self.handle.keep(other)?,
            }
        }
    }

    /// As [`SupervisorHandle::usage`].
    pub async fn usage(&mut self) -> Result<PenUsage, SupervisorError> {
        self.handle.request(&SupervisorRequest::Usage)?;
        loop {
            match self.next_report().await? {
                SupervisorReport::Usage(usage) => return Ok(usage),
                other => self.handle.keep(other)?,
            }
        }
    }
}

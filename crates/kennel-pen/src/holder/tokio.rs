//! The caller's side for async programs.
//!
//! Every future here may be dropped at any point: what was launched is then ended by the holder, which
//! sees its socket close. Limit waits with `tokio::time::timeout`.

use std::io;
use std::time::Duration;

use kennel_sys::fault::{CallError, call};
use kennel_sys::identity::ProcessIdentity;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::client::{Event, Gone, Held, HeldError, HolderProgram};
use super::message::{Report, Request};
use super::order::Order;
use crate::command::CallerEnds;
use crate::process::{PenProcess, PenUsage};
use crate::wire::Garbled;

impl HolderProgram {
    /// As [`HolderProgram::launch`], without blocking the runtime.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub async fn launch_async(&self, order: Order) -> Result<AsyncGated, HeldError> {
        let program = self.clone();
        // The exec of the holder is waited for. If we are dropped meanwhile, so is what it returns.
        let started = tokio::task::spawn_blocking(move || program.begin(order)).await;
        let (held, ends) =
            started.map_err(|error| CallError::new("spawn", io::Error::other(error)))??;
        let mut held = AsyncHeld::new(held)?;
        match held.next_event().await? {
            Event::Born(_) => Ok(AsyncGated { held, ends }),
            _ => Err(Garbled.into()),
        }
    }
}

/// As [`super::Gated`].
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub struct AsyncGated {
    held: AsyncHeld,
    /// Our ends of its streams.
    pub ends: CallerEnds,
}

impl AsyncGated {
    /// Which process it is.
    #[must_use]
    pub fn identity(&self) -> Option<&ProcessIdentity> {
        self.held.held.identity()
    }

    /// Opens the gate: the process becomes the program.
    ///
    /// # Errors
    /// See [`HeldError`]; nothing of the command is left then.
    pub async fn open(mut self) -> Result<(AsyncHeld, CallerEnds), HeldError> {
        self.held.held.open()?;
        match self.held.next_event().await? {
            Event::Running => Ok((self.held, self.ends)),
            _ => Err(Garbled.into()),
        }
    }
}

/// As [`super::Held`]: a running agent. Dropping this has the holder end everything.
#[derive(Debug)]
pub struct AsyncHeld {
    held: Held,
    /// A second handle on the socket, by which the runtime knows when to read.
    socket: UnixStream,
}

impl AsyncHeld {
    fn new(held: Held) -> Result<Self, HeldError> {
        let copy = call("dup", || held.as_fd().try_clone_to_owned())?;
        let socket = call("epoll_ctl", || UnixStream::from_std(copy.into()))?;
        Ok(Self { held, socket })
    }

    async fn next_report(&mut self) -> Result<(Report, Vec<OwnedFd>), HeldError> {
        loop {
            let ready = self.socket.readable().await;
            ready.map_err(|error| CallError::new("epoll_wait", error))?;
            let mut outcome = Ok(None);
            // The runtime learns from the outcome whether there was nothing to read.
            let read = self.socket.try_io(Interest::READABLE, || {
                outcome = self.held.receive();
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

    /// The blocking face of the same session, for what needs no waiting.
    #[must_use]
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// The next event. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub async fn next_event(&mut self) -> Result<Event, HeldError> {
        let (report, descriptors) = match self.held.reports.pop_front() {
            Some(report) => (report, Vec::new()),
            None => self.next_report().await?,
        };
        self.held.event(report, descriptors)
    }

    /// Waits until nobody is left.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub async fn wait_gone(&mut self) -> Result<Gone, HeldError> {
        loop {
            if let Event::Gone(gone) = self.next_event().await? {
                return Ok(gone);
            }
        }
    }

    /// As [`Held::stop`].
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn stop(&self, grace: Option<Duration>) -> Result<(), HeldError> {
        self.held.stop(grace)
    }

    /// As [`Held::kill`].
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn kill(&self) -> Result<(), HeldError> {
        self.held.kill()
    }

    /// As [`Held::signal`].
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn signal(&self, signal: Signal) -> Result<(), HeldError> {
        self.held.signal(signal)
    }

    /// As [`Held::members`].
    ///
    /// # Errors
    /// See [`HeldError`].
    pub async fn members(&mut self) -> Result<Vec<PenProcess>, HeldError> {
        self.held.ask(&Request::Members)?;
        loop {
            match self.next_report().await?.0 {
                Report::Members(members) => return Ok(members),
                other => self.keep(other)?,
            }
        }
    }

    /// As [`Held::usage`].
    ///
    /// # Errors
    /// See [`HeldError`].
    pub async fn usage(&mut self) -> Result<PenUsage, HeldError> {
        self.held.ask(&Request::Usage)?;
        loop {
            match self.next_report().await?.0 {
                Report::Usage(usage) => return Ok(usage),
                other => self.keep(other)?,
            }
        }
    }

    /// Keeps a report for [`Self::next_event`]. A session that is over answers nothing any more.
    fn keep(&mut self, report: Report) -> Result<(), HeldError> {
        let over = matches!(report, Report::Gone { .. });
        self.held.reports.push_back(report);
        if over { Err(HeldError::Silent) } else { Ok(()) }
    }
}

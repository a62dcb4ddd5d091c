//! The caller's side of a holder.

use std::collections::VecDeque;
use std::ffi::{CString, OsStr};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kennel_sys::clone::{self, ChildSpec, GateOutcome};
use kennel_sys::fault::{CallError, call};
use kennel_sys::identity::ProcessIdentity;
use kennel_sys::{pidfd, reap};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::process::Signal;

use super::message::LARGEST_REPORT;
use super::message::{Failure, Report, Request};
use super::order::{HeldKind, Order};
use super::role::{HOLDER, HOLDER_OF_NAMESPACE};
use crate::command::{AgentEnds, CallerEnds, open_streams};
use crate::launch::LaunchError;
use crate::name::PenName;
use crate::pen::{Woken, poll};
use crate::process::{PenProcess, PenUsage, Survivor};
use crate::status::Status;
use crate::wire::Garbled;
use crate::wire::{Channel, Delivery, Received};

/// Why a holder could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum HeldError {
    /// The command could not be started. Nothing of it is left.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The pen could not be made. Nothing is left.
    #[error("{0}")]
    Pen(String),
    /// A call in this process failed.
    #[error("can't reach the holder")]
    Call(#[from] CallError),
    /// The holder itself could not be started.
    #[error("the holder {program} can't be started")]
    Start {
        /// Its program.
        program: PathBuf,
        /// Why.
        source: CallError,
    },
    /// The holder has died. What it held falls to this process's nearest subreaper, or to init; a cgroup
    /// keeps it together. See [`Held::into_pen`].
    #[error("the holder has died")]
    Died,
    /// The holder did not answer in time. It still owns what it holds.
    #[error("the holder does not answer")]
    Silent,
    /// The holder said something that makes no sense.
    #[error(transparent)]
    Garbled(#[from] Garbled),
}

/// The program that serves as holder.
#[derive(Debug, Clone)]
pub struct HolderProgram {
    path: PathBuf,
}

impl HolderProgram {
    /// This very program, whose `main` begins with [`super::take_role`]. It is found through
    /// `/proc/self/exe`, so a newer file in its place does not matter.
    #[must_use]
    pub fn this_one() -> Self {
        Self { path: "/proc/self/exe".into() }
    }

    /// Another program whose `main` begins with [`super::take_role`].
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Starts a holder and has it make the process, which waits behind its gate.
    ///
    /// # Errors
    /// See [`HeldError`]. Nothing is left then, or the holder, whose socket is closed now, ends it.
    pub fn launch(&self, order: Order, deadline: Instant) -> Result<Gated, HeldError> {
        let (mut held, ends) = self.begin(order)?;
        match held.next_event(deadline)?.ok_or(HeldError::Silent)? {
            Event::Born(_) => Ok(Gated { held, ends }),
            _ => Err(Garbled.into()),
        }
    }

    /// Starts a holder and gives it its order: the first step of [`Self::launch`], for those who have other
    /// things to listen to meanwhile. [`Event::Born`] comes next; then say [`Held::open`], and
    /// [`Event::Running`] comes. Whatever fails from here on, the [`Held`] stays in your hands.
    ///
    /// # Errors
    /// See [`HeldError`]. Nothing is left then.
    pub fn begin(&self, mut order: Order) -> Result<(Held, CallerEnds), HeldError> {
        reap_holders();
        if order.command.folder.as_ref().is_none_or(|folder| folder.is_relative()) {
            let here = call("getcwd", std::env::current_dir)?;
            order.command.folder = Some(here.join(order.command.folder.take().unwrap_or_default()));
        }
        let streams = std::mem::take(&mut order.command.streams);
        let (agent, ends) = open_streams(streams)?;
        let (socket, theirs) = call("socketpair", Channel::pair)?;
        let process = self.spawn(&order, theirs.as_fd())?;
        drop(theirs);
        let held = Held {
            channel: Channel::new(socket, LARGEST_REPORT),
            process: Some(process),
            name: order.name.clone(),
            agent: None,
            cgroup: None,
            reports: VecDeque::new(),
            over: false,
        };
        held.give(&order, &agent)?;
        Ok((held, ends))
    }

    fn spawn(&self, order: &Order, socket: BorrowedFd<'_>) -> Result<OwnedFd, HeldError> {
        let failed = |source| HeldError::Start { program: self.path.clone(), source };
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let null = call("open /dev/null", || rustix::fs::open("/dev/null", flags, Mode::empty()))?;
        let role = if order.kind == HeldKind::Namespace { HOLDER_OF_NAMESPACE } else { HOLDER };
        let c = |text: &OsStr| {
            CString::new(text.as_bytes())
                .map_err(|_| failed(CallError::new("execve", rustix::io::Errno::INVAL)))
        };
        let start = ChildSpec {
            path: c(self.path.as_os_str())?,
            argv: vec![c(role.as_ref())?, c(order.name.to_string().as_ref())?],
            env: Vec::new(),
            folder: None,
            umask: None,
            limits: Vec::new(),
            streams: [socket, null.as_fd(), null.as_fd()],
            terminal: false,
            cgroup: None,
        };
        match clone::start(start).map_err(failed)?.open(Instant::now() + EXEC).map_err(failed)? {
            GateOutcome::Running(pidfd) => Ok(pidfd),
            GateOutcome::Failed(pidfd, error) => {
                hand_over(pidfd);
                Err(failed(error.error))
            }
            GateOutcome::Died(pidfd) => {
                hand_over(pidfd);
                Err(HeldError::Died)
            }
            GateOutcome::Pending(opening) => {
                hand_over(opening.give_up().0);
                Err(HeldError::Silent)
            }
        }
    }
}

const EXEC: Duration = Duration::from_secs(30);

/// Holders whose handle was dropped: they end by themselves, and are reaped here.
static GOING: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

fn hand_over(holder: OwnedFd) {
    GOING.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(holder);
}

/// Reaps the holders that were let go and have ended meanwhile; says how many have not. Every launch does
/// so too; a program that launches no more may want to call it.
pub fn reap_holders() -> usize {
    let mut going = GOING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // An error means that it is no child of ours any more: somebody else reaped it.
    going.retain(|holder| matches!(reap::reap(holder.as_fd()), Ok(None)));
    going.len()
}

/// An agent's process that exists, is known, and waits. Dropping this ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub struct Gated {
    pub(crate) held: Held,
    /// Our ends of its streams.
    pub ends: CallerEnds,
}

impl Gated {
    /// Which process it is.
    #[must_use]
    pub fn identity(&self) -> &ProcessIdentity {
        // `born` is what makes a Gated.
        &self.held.agent.as_ref().expect("a gated process was born").1
    }

    /// Opens the gate: the process becomes the program.
    ///
    /// # Errors
    /// See [`HeldError`]; nothing of the command is left then.
    pub fn open(self, deadline: Instant) -> Result<Held, HeldError> {
        self.open_with_ends(deadline).map(|(held, _)| held)
    }

    /// As [`Self::open`], with our ends of its streams.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_with_ends(mut self, deadline: Instant) -> Result<(Held, CallerEnds), HeldError> {
        self.held.open()?;
        match self.held.next_event(deadline)?.ok_or(HeldError::Silent)? {
            Event::Running => Ok((self.held, self.ends)),
            _ => Err(Garbled.into()),
        }
    }
}

impl From<Failure> for HeldError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Launch(error) => Self::Launch(error),
            Failure::Pen(text) => Self::Pen(text),
        }
    }
}

/// Something happened to a session that a holder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Event {
    /// The process exists, is known, and waits for [`Held::open`].
    Born(ProcessIdentity),
    /// It has become the program.
    Running,
    /// The agent has ended. What it left behind may still be there.
    Exited(Status),
    /// The agent left these behind; their linger is over, and they are being ended.
    LeftBehind(Vec<PenProcess>),
    /// These could not be ended so far. The holder goes on trying.
    StillAlive(Vec<Survivor>),
    /// Nobody is left, and the pen is removed.
    Gone(Gone),
    /// A stop or a kill was understood and is under way.
    Ending,
    /// Something failed in the holder, which goes on.
    Trouble(String),
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// The agent's own status.
    pub status: Status,
    /// The CPU time of all its processes.
    pub cpu: Duration,
}

/// A running agent, held by a holder. Dropping this has the holder end everything.
#[derive(Debug)]
pub struct Held {
    pub(crate) channel: Channel,
    process: Option<OwnedFd>,
    name: PenName,
    agent: Option<(OwnedFd, ProcessIdentity)>,
    cgroup: Option<PathBuf>,
    pub(crate) reports: VecDeque<Report>,
    /// The pen is gone, or was handed on.
    over: bool,
}

impl Held {
    fn give(&self, order: &Order, agent: &AgentEnds) -> Result<(), HeldError> {
        let memfd =
            call("memfd_create", || rustix::fs::memfd_create("kennel-order", MemfdFlags::CLOEXEC))?;
        let mut file = std::fs::File::from(memfd);
        call("write memfd", || file.write_all(&order.encode(agent.terminal)))?;
        let mut descriptors = vec![file.as_fd()];
        descriptors.extend(agent.borrow());
        descriptors.extend(order.restore.as_ref().map(AsFd::as_fd));
        let sent = call("sendmsg", || self.channel.send(&Request::Launch.encode(), &descriptors))?;
        if sent == Delivery::Sent { Ok(()) } else { Err(HeldError::Died) }
    }

    /// The name of its pen.
    #[must_use]
    pub fn name(&self) -> &PenName {
        &self.name
    }

    /// Which process the agent is.
    #[must_use]
    pub fn identity(&self) -> Option<&ProcessIdentity> {
        self.agent.as_ref().map(|(_, identity)| identity)
    }

    /// The folder of its cgroup, if it has one.
    #[must_use]
    pub fn cgroup_path(&self) -> Option<&Path> {
        self.cgroup.as_deref()
    }

    /// The holder's own process.
    #[must_use]
    pub fn holder_pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.process.as_ref().map(AsFd::as_fd)
    }

    pub(crate) fn ask(&self, request: &Request) -> Result<(), HeldError> {
        match call("sendmsg", || self.channel.send(&request.encode(), &[]))? {
            Delivery::Sent => Ok(()),
            Delivery::Full => Err(HeldError::Silent),
            Delivery::Closed => Err(HeldError::Died),
        }
    }

    /// Takes one message off the socket.
    pub(crate) fn receive(&mut self) -> Result<Option<(Report, Vec<OwnedFd>)>, HeldError> {
        match call("recvmsg", || self.channel.receive())? {
            Received::Nothing => Ok(None),
            Received::End => Err(HeldError::Died),
            Received::Message(bytes, descriptors) => {
                Ok(Some((Report::decode(&bytes)?, descriptors)))
            }
        }
    }

    fn next_report(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<(Report, Vec<OwnedFd>)>, HeldError> {
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

    /// Turns a report into an event, and settles what follows from it.
    pub(crate) fn event(
        &mut self,
        report: Report,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Event, HeldError> {
        Ok(match report {
            Report::Born { identity, cgroup } => {
                let pidfd = descriptors.into_iter().next().ok_or(Garbled)?;
                self.agent = Some((pidfd, identity.clone()));
                self.cgroup = cgroup;
                Event::Born(identity)
            }
            Report::Running => Event::Running,
            Report::Failed(failure) => {
                self.over = true;
                return Err(failure.into());
            }
            Report::Exited(status) => Event::Exited(status),
            Report::LeftBehind(members) => Event::LeftBehind(members),
            Report::StillAlive(survivors) => Event::StillAlive(survivors),
            Report::Ending => Event::Ending,
            Report::Trouble(text) => Event::Trouble(text),
            Report::Gone { status, cpu } => {
                self.over = true;
                // The holder leaves now; if it can't be told, it sees our end of the socket close.
                self.ask(&Request::Release).ok();
                let unknown = || Status::Unknown("the holder did not see it end".into());
                Event::Gone(Gone { status: status.unwrap_or_else(unknown), cpu })
            }
            _ => return Err(Garbled.into()),
        })
    }

    /// The next event, if one comes before the deadline. [`Self::as_fd`] becomes readable when one is there.
    ///
    /// # Errors
    /// [`HeldError::Died`] if the holder has died with the session under way.
    pub fn next_event(&mut self, deadline: Instant) -> Result<Option<Event>, HeldError> {
        if let Some(report) = self.reports.pop_front() {
            return self.event(report, Vec::new()).map(Some);
        }
        match self.next_report(deadline)? {
            Some((report, descriptors)) => self.event(report, descriptors).map(Some),
            None => Ok(None),
        }
    }

    /// Waits until nobody is left; `None` if the deadline passes first.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn wait_gone(&mut self, deadline: Instant) -> Result<Option<Gone>, HeldError> {
        loop {
            match self.next_event(deadline)? {
                Some(Event::Gone(gone)) => return Ok(Some(gone)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Lets the process, once it is [`Event::Born`], become the program.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn open(&self) -> Result<(), HeldError> {
        self.ask(&Request::Open)
    }

    /// Asks for the end: TERM to everyone, KILL after the grace (`None`: the order's own). The holder
    /// carries it out whatever becomes of us.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn stop(&self, grace: Option<Duration>) -> Result<(), HeldError> {
        self.ask(&Request::Stop(grace))
    }

    /// Asks for the end, at once.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn kill(&self) -> Result<(), HeldError> {
        self.ask(&Request::Kill)
    }

    /// Sends a signal to everyone in the pen.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn signal(&self, signal: Signal) -> Result<(), HeldError> {
        self.ask(&Request::Signal(signal.as_raw()))
    }

    /// Who is in the pen.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn members(&mut self, deadline: Instant) -> Result<Vec<PenProcess>, HeldError> {
        self.ask(&Request::Members)?;
        self.answer(deadline, |report| match report {
            Report::Members(members) => Ok(members),
            other => Err(Box::new(other)),
        })
    }

    /// What the pen uses and has used.
    ///
    /// # Errors
    /// See [`HeldError`].
    pub fn usage(&mut self, deadline: Instant) -> Result<PenUsage, HeldError> {
        self.ask(&Request::Usage)?;
        self.answer(deadline, |report| match report {
            Report::Usage(usage) => Ok(usage),
            other => Err(Box::new(other)),
        })
    }

    /// Waits for the one report that answers; what else comes meanwhile is kept.
    fn answer<T>(
        &mut self,
        deadline: Instant,
        pick: impl Fn(Report) -> Result<T, Box<Report>>,
    ) -> Result<T, HeldError> {
        loop {
            let (report, _) = self.next_report(deadline)?.ok_or(HeldError::Silent)?;
            match pick(report) {
                Ok(answer) => return Ok(answer),
                Err(other) => {
                    // A session that is over answers nothing any more.
                    let over = matches!(*other, Report::Gone { .. });
                    self.reports.push_back(*other);
                    if over {
                        return Err(HeldError::Silent);
                    }
                }
            }
        }
    }

    /// Whether nothing of the session is left: its pen is gone, or nothing was ever run.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// A handle on the agent, once it was born.
    #[must_use]
    pub fn agent_pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.agent.as_ref().map(|(pidfd, _)| pidfd.as_fd())
    }

    /// Lets go of the holder, which ends the session; if it has not gone after `patience` it is killed.
    /// Gives what is needed to take its pen over with [`HeldPen::take_over`], and so to see that nothing
    /// is left. The orphans of a holder that died fall to this process if it was a subreaper before; else
    /// only a cgroup keeps them together.
    ///
    /// # Errors
    /// The holder could not be ended in time.
    pub fn into_pen(mut self, patience: Duration) -> io::Result<HeldPen> {
        const KILLED: Duration = Duration::from_secs(5);
        // Fails only if the other side is gone already.
        rustix::net::shutdown(&self.channel, rustix::net::Shutdown::Both).ok();
        if let Some(holder) = self.process.take()
            && !reap_by(&holder, Instant::now() + patience)?
        {
            let _sent_or_gone = pidfd::send(&holder, Signal::KILL)?;
            if !reap_by(&holder, Instant::now() + KILLED)? {
                hand_over(holder);
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(HeldPen {
            name: self.name.clone(),
            cgroup: self.cgroup.take(),
            agent: self.agent.take(),
        })
    }
}

/// Reaps a holder that is ending; says whether it has come to that before the deadline.
fn reap_by(holder: &OwnedFd, deadline: Instant) -> io::Result<bool> {
    loop {
        // An error means that it is no child of ours any more: somebody else reaped it.
        if !matches!(reap::reap(holder.as_fd()), Ok(None)) {
            return Ok(true);
        }
        if poll(&mut [PollFd::new(holder, PollFlags::IN)], Some(deadline))? == Woken::Deadline {
            return Ok(false);
        }
    }
}

/// What is needed to take over the pen of a dead holder.
#[derive(Debug)]
pub struct HeldPen {
    name: PenName,
    cgroup: Option<PathBuf>,
    agent: Option<(OwnedFd, ProcessIdentity)>,
}

impl HeldPen {
    /// Takes it over, into this process, whose earlier children are `strangers`.
    ///
    /// # Errors
    /// See [`crate::CreateError`].
    pub fn take_over(
        self,
        strangers: crate::OtherChildren,
    ) -> Result<crate::Pen, crate::CreateError> {
        crate::Pen::take_over(self.name, self.cgroup.as_deref(), self.agent, strangers)
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(holder) = self.process.take() {
            if self.over {
                // It has nothing left to do but to exit, which takes microseconds.
                const LEAVING: Duration = Duration::from_secs(1);
                let deadline = Some(Instant::now() + LEAVING);
                poll(&mut [PollFd::new(&holder, PollFlags::IN)], deadline).ok();
            }
            hand_over(holder);
            reap_holders();
        }
    }
}

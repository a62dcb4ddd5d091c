//! The pen: it holds a session's processes from before the first one runs until the last is gone.
//!
//! A pen always covers the subtree below this process, and a cgroup if there is one. It is empty
//! when both are: `populated 0` (or a folder that could be removed), and no children left.

use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use kennel_sys::fault::{CallError, call};
use kennel_sys::identity::ProcessIdentity;
use kennel_sys::namespace::NamespaceInit;
use kennel_sys::reap::{self, Reaped, WaitStatus};
use kennel_sys::signals::SignalFd;
use kennel_types::PenKind;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::process::Signal;

use crate::cgroup::Cgroup;
use crate::host_support::{HostSupport, NoCgroup};
use crate::limits::{PenLimitError, PenLimits};
use crate::name::PenName;
use crate::process::PenProcess;
use crate::slot::{PenSlot, settle, slot, take_slot};
use crate::status::Status;
use crate::subtree::{self, ProcessKey};

/// Why a pen could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A process owns one pen at a time, since each of its orphans must belong to exactly one.
    #[error("this process already has a pen; start a supervisor for each further one")]
    Occupied,
    /// A cgroup was requested.
    #[error("this host supports no cgroup pen")]
    NoCgroup(#[source] NoCgroup),
    /// A requested limit is not possible.
    #[error("the pen can't have this limit (--best-effort runs it without)")]
    Limit(#[from] PenLimitError),
    /// A call failed. Nothing is left.
    #[error("can't create the pen")]
    Call(#[from] CallError),
}

/// A pen that could not be removed.
#[derive(Debug, thiserror::Error)]
#[error("pen {} could not be removed", .pen.name)]
pub struct PenRemoveError {
    /// The pen, which this process still owns.
    pub pen: Box<Pen>,
    /// The reason.
    #[source]
    pub why: RemovalFailure,
}

/// Why a pen could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemovalFailure {
    /// Processes are in it.
    #[error("processes are still in it")]
    Occupied,
    /// A call failed.
    #[error(transparent)]
    Call(CallError),
}

/// How long a signal to all processes may take to find those that are forked meanwhile.
const SIGNAL_TIMEOUT: Duration = Duration::from_millis(200);

/// The maximum number of children that are reaped at once, so that a flood of exits does not block
/// everything else. Their signal stays pending, so the next turn comes at once.
const MAX_REAPED: u32 = 10_000;

/// A pen, owned by this process. See the [crate documentation](crate) for how to use it.
///
/// A process has one pen at a time, and *all its children belong to it*: the pen reaps them. Use a
/// process of its own for each pen ([`crate::supervisor`]) unless yours does nothing else.
/// `SIGCHLD` is blocked in the thread that creates the pen.
///
/// Dropping a pen that is not empty kills the processes in it, without waiting.
#[derive(Debug)]
pub struct Pen {
    pub(crate) name: PenName,
    pub(crate) cgroup: Option<Cgroup>,
    /// Set if this process is the init of the pen's pid namespace: one call reaches all.
    pub(crate) namespace: Option<NamespaceInit>,
    pub(crate) agent: Option<PenAgent>,
    /// Processes that the last round of KILL was not permitted to reach.
    pub(crate) refused: Vec<ProcessKey>,
    /// Children of this process that don't belong to the pen.
    pub(crate) others: HashSet<ProcessKey>,
    /// Those of `others` that have exited, until the caller takes them.
    others_exited: Vec<(i32, WaitStatus)>,
    /// The number of rounds of KILL.
    pub(crate) kill_rounds: u32,
    /// The processes that the last round reached.
    pub(crate) killed: HashSet<ProcessKey>,
    /// Whether the last reaping left children.
    children_left: bool,
    /// Whether the pen was empty and its folder is gone.
    removed: bool,
    children: Option<SignalFd>,
    pub(crate) cpu_before: Duration,
    /// The number of OOM kills when KILL was first sent.
    pub(crate) oom_kills_before: u64,
}

/// The process that was launched.
#[derive(Debug)]
pub(crate) struct PenAgent {
    pub(crate) pidfd: OwnedFd,
    pub(crate) identity: ProcessIdentity,
    pub(crate) status: Option<Status>,
}

/// Children of a process that don't belong to its pen.
#[derive(Debug, Clone, Default)]
pub struct OtherChildren(HashSet<ProcessKey>);

impl OtherChildren {
    /// Returns these children, without those that are already gone.
    pub fn of(children: impl IntoIterator<Item = i32>) -> io::Result<Self> {
        let mut found = HashSet::new();
        for pid in children {
            found.extend(subtree::open(pid)?.map(|child| child.mark));
        }
        Ok(Self(found))
    }
}

/// Why a wait returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Woken {
    /// Something happened in the pen, or one of the other descriptors is ready.
    Changed,
    /// The deadline passed.
    Deadline,
}

impl Pen {
    /// Creates a pen.
    ///
    /// # Errors
    /// See [`CreateError`]. Nothing is left then.
    pub fn create(host: &HostSupport, name: PenName, kind: PenKind) -> Result<Self, CreateError> {
        Self::create_limited(host, name, kind, &PenLimits::default()).map(|(pen, _)| pen)
    }

    /// Creates a pen with limits that hold from its first process on. Also returns the limits that
    /// are not possible, if the limits are best-effort.
    ///
    /// # Errors
    /// Nothing is left then, apart from what [`HostSupport::limits`] describes.
    pub fn create_limited(
        host: &HostSupport,
        name: PenName,
        kind: PenKind,
        limits: &PenLimits,
    ) -> Result<(Self, Vec<PenLimitError>), CreateError> {
        let base = match (kind, host.cgroup()) {
            (PenKind::Subtree | PenKind::Pidns, _) | (PenKind::Auto, Err(_)) => None,
            (_, Ok(base)) => Some(base),
            (PenKind::Cgroup, Err(why)) => return Err(CreateError::NoCgroup(why.clone())),
        };
        let (settings, mut unmet) = host.prepare(limits, base, kind)?;
        let taken = take_slot()?;
        call("prctl subreaper", reap::become_subreaper)?;
        let children = call("signalfd", child_signals)?;
        let cgroup = base.map(|base| Cgroup::create(base, &name)).transpose()?;
        std::mem::forget(taken); // from now on, dropping the pen frees the slot
        let pen = Self::new(name, cgroup, children);
        for setting in settings {
            let Some(cgroup) = &pen.cgroup else { break };
            if let Err(source) = cgroup.set(&setting) {
                unmet.push(PenLimitError::Refused { controller: setting.controller, source });
            }
        }
        if !limits.best_effort && !unmet.is_empty() {
            return Err(unmet.swap_remove(0).into());
        }
        Ok((pen, unmet))
    }

    /// Creates a pen around the children that this process already has, for instance orphans that
    /// were reparented to it. The `others` don't belong to the pen.
    ///
    /// # Errors
    /// See [`CreateError`]. The children are left alone in that case.
    pub fn adopt_children(name: PenName, others: OtherChildren) -> Result<Self, CreateError> {
        let taken = take_slot()?;
        call("prctl subreaper", reap::become_subreaper)?;
        let children = call("signalfd", child_signals)?;
        std::mem::forget(taken);
        let mut pen = Self::new(name, None, children);
        pen.others = others.0;
        Ok(pen)
    }

    fn new(name: PenName, cgroup: Option<Cgroup>, children: SignalFd) -> Self {
        Self {
            name,
            cgroup,
            namespace: None,
            agent: None,
            refused: Vec::new(),
            others: HashSet::new(),
            others_exited: Vec::new(),
            kill_rounds: 0,
            killed: HashSet::new(),
            children_left: false,
            removed: false,
            children: Some(children),
            cpu_before: reap::reaped_cpu(),
            oom_kills_before: 0,
        }
    }

    /// Notes a later child that does not belong to the pen either.
    pub fn add_other(&mut self, pid: i32) -> io::Result<()> {
        self.others.extend(subtree::open(pid)?.map(|found| found.mark));
        Ok(())
    }

    /// Returns the other children that have exited since the last call, and were reaped by the pen.
    pub fn others_exited(&mut self) -> Vec<(i32, WaitStatus)> {
        std::mem::take(&mut self.others_exited)
    }

    /// Notes that this process is the init of the pen's pid namespace: one call reaches all.
    pub fn in_namespace(&mut self, init: NamespaceInit) {
        self.namespace = Some(init);
    }

    /// Opens the files that are needed to end this pen. Call it for a pen that will run for long.
    pub fn arm(&self) -> Result<(), CallError> {
        self.cgroup.as_ref().map_or(Ok(()), Cgroup::open_all)
    }

    /// Returns the name of the pen.
    pub fn name(&self) -> &PenName {
        &self.name
    }

    /// Returns the folder of its cgroup, if it has one.
    pub fn cgroup_path(&self) -> Option<&Path> {
        self.cgroup.as_ref().map(Cgroup::path)
    }

    /// Returns the agent's process, once it was launched.
    pub fn agent(&self) -> Option<&ProcessIdentity> {
        self.agent.as_ref().map(|agent| &agent.identity)
    }

    /// Returns the agent's exit status, once it has exited and was reaped.
    pub fn status(&self) -> Option<&Status> {
        self.agent.as_ref().and_then(|agent| agent.status.as_ref())
    }

    /// Reaps all children that have exited. Returns whether a child of the pen is left.
    pub(crate) fn reap(&mut self) -> io::Result<bool> {
        // The signal is pending only once, for any number of children.
        let _pending_or_not = self.children.as_ref().map_or(Ok(None), SignalFd::next)?;
        for _ in 0..MAX_REAPED {
            match reap::reap_any()? {
                Reaped::NoChildren => {
                    self.children_left = false;
                    return Ok(false);
                }
                Reaped::NoneReady => {
                    self.children_left = self.has_own_children()?;
                    return Ok(self.children_left);
                }
                Reaped::One(pid, ended) => {
                    let oom = || {
                        self.cgroup.as_ref().is_some_and(
                            |cgroup| matches!(cgroup.oom_kills(), Ok(Some(kills)) if kills > self.oom_kills_before),
                        )
                    };
                    if let Some(agent) = &mut self.agent
                        && agent.status.is_none()
                        && agent.identity.pid == pid
                    {
                        agent.status = Some(match ended {
                            WaitStatus::Signal { signal: 9, core } => {
                                Status::Signal { signal: 9, core, oom: oom() }
                            }
                            ended => ended.into(),
                        });
                    } else if !self.others.is_empty() {
                        let other = self.others.extract_if(|mark| mark.pid == pid).next();
                        self.others_exited.extend(other.map(|mark| (mark.pid, ended)));
                    }
                }
            }
        }
        self.children_left = true;
        Ok(true)
    }

    /// Returns whether a child of this process belongs to the pen.
    fn has_own_children(&self) -> io::Result<bool> {
        if self.others.is_empty() {
            return Ok(true);
        }
        for pid in subtree::children_of(rustix::process::getpid().as_raw_pid())? {
            if subtree::open(pid)?.is_some_and(|found| !self.others.contains(&found.mark)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the pen is empty, by both proofs.
    ///
    /// # Errors
    /// It is unknown whether the pen is empty, so treat it as occupied.
    pub fn is_empty(&mut self) -> io::Result<bool> {
        Ok(!self.reap()? && !self.populated()?)
    }

    pub(crate) fn populated(&self) -> io::Result<bool> {
        self.cgroup.as_ref().map_or(Ok(false), Cgroup::populated)
    }

    /// Waits until something happens in the pen, or one of `others` is readable.
    pub fn wait(&self, deadline: Option<Instant>, others: &[BorrowedFd<'_>]) -> io::Result<Woken> {
        let others = others.iter().map(|fd| PollFd::new(fd, PollFlags::IN));
        self.wait_also_for(deadline, &mut others.collect())
    }

    /// As [`Self::wait`], for descriptors with flags, which receive the results.
    pub fn wait_also_for<'a>(
        &'a self,
        deadline: Option<Instant>,
        fds: &mut Vec<PollFd<'a>>,
    ) -> io::Result<Woken> {
        let others = fds.len();
        fds.extend(self.children.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        if let Some(agent) = self.agent.as_ref().filter(|agent| agent.status.is_none()) {
            fds.push(PollFd::new(&agent.pidfd, PollFlags::IN));
        }
        // Ready from a change until the next *read*, which `is_empty` does only when no child is
        // left. As long as there is a child, its exit is what to wait for.
        let events = self.cgroup.as_ref().filter(|_| !self.children_left).and_then(Cgroup::events);
        if let Some(events) = events {
            fds.push(PollFd::from_borrowed_fd(events, PollFlags::PRI));
        }
        let woken = poll(fds, deadline);
        fds.truncate(others);
        woken
    }

    /// Waits until the agent has exited.
    ///
    /// # Errors
    /// The kernel's error. A deadline that passes is not an error but `None`.
    pub fn wait_agent(&mut self, deadline: Instant) -> io::Result<Option<Status>> {
        loop {
            self.reap()?;
            if let Some(status) = self.status() {
                return Ok(Some(status.clone()));
            }
            if self.wait(Some(deadline), &[])? == Woken::Deadline || Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }

    /// Waits until the pen is empty. Returns whether it is before the deadline.
    ///
    /// # Errors
    /// It is unknown whether the pen is empty, so treat it as occupied.
    pub fn wait_empty(&mut self, deadline: Instant) -> io::Result<bool> {
        loop {
            if self.is_empty()? {
                return Ok(true);
            }
            if self.wait(Some(deadline), &[])? == Woken::Deadline || Instant::now() >= deadline {
                return self.is_empty();
            }
        }
    }

    /// Lists the processes in the pen.
    pub fn processes(&self) -> io::Result<Vec<PenProcess>> {
        Ok(self.pids()?.into_iter().filter_map(PenProcess::look).collect())
    }

    pub(crate) fn pids(&self) -> io::Result<Vec<i32>> {
        let mut pids = Vec::new();
        subtree::walk(&self.others, |found| {
            pids.push(found.mark.pid);
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(cgroup) = &self.cgroup {
            pids.extend(cgroup.pids()?);
        }
        pids.sort_unstable();
        pids.dedup();
        Ok(pids)
    }

    /// Returns the CPU time of all processes that were in the pen, once it is empty.
    pub(crate) fn final_cpu(&self) -> io::Result<Duration> {
        let reaped = || reap::reaped_cpu().saturating_sub(self.cpu_before);
        let counted = self.cgroup.as_ref().map(Cgroup::cpu).transpose()?.flatten();
        Ok(counted.unwrap_or_else(reaped))
    }

    /// Sends a signal to every process in the pen, including those that appear meanwhile.
    ///
    /// TERM is followed by CONT, so that a stopped process can act on it.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        if signal == Signal::KILL {
            self.reap()?;
            self.note_oom_kills();
        }
        if let Some(init) = self.namespace {
            init.signal_others(signal)?;
        } else {
            self.signal_until_none_is_new(signal, SIGNAL_TIMEOUT)?;
        }
        if signal == Signal::TERM {
            return self.signal(Signal::CONT);
        }
        Ok(())
    }

    /// Sends HUP to processes that ignore TERM, as an interactive shell does: it exits because its
    /// terminal is gone. Processes that act on TERM don't get it.
    pub fn hang_up(&mut self) -> io::Result<()> {
        subtree::hang_up(&self.others, Instant::now() + SIGNAL_TIMEOUT)
    }

    /// A process that is forked during one round is found in the next. The rounds are limited: only
    /// a kill stops processes that fork faster than they are found.
    pub(crate) fn signal_until_none_is_new(
        &mut self,
        signal: Signal,
        longest: Duration,
    ) -> io::Result<()> {
        let deadline = Instant::now() + longest;
        let mut done = HashSet::new();
        loop {
            // Dead processes would only make the next round longer.
            self.reap()?;
            let round = subtree::signal(signal, &done, &self.others, Some(deadline))?;
            if round.sent.is_empty() || Instant::now() >= deadline {
                return Ok(());
            }
            done.extend(round.sent);
            done.extend(round.refused);
        }
    }

    /// Removes an empty pen. On failure the error contains the pen.
    pub fn remove(mut self) -> Result<(), PenRemoveError> {
        self.try_remove().map_err(|why| PenRemoveError { pen: Box::new(self), why })
    }

    /// As [`Self::remove`], for callers that keep the value. The pen can't be used afterwards.
    pub fn try_remove(&mut self) -> Result<(), RemovalFailure> {
        if self.reap().map_err(|error| RemovalFailure::Call(CallError::new("waitid", error)))? {
            return Err(RemovalFailure::Occupied);
        }
        if let Some(cgroup) = &self.cgroup {
            if !cgroup.remove().map_err(RemovalFailure::Call)? {
                return Err(RemovalFailure::Occupied);
            }
            self.cgroup = None;
        }
        self.removed = true;
        Ok(())
    }
}

/// Waits until one of the descriptors is ready, or the deadline passes. An interruption by a signal
/// counts as a change.
pub fn poll(fds: &mut [PollFd<'_>], deadline: Option<Instant>) -> io::Result<Woken> {
    let timeout = deadline.map(|deadline| {
        let left = deadline.saturating_duration_since(Instant::now());
        rustix::event::Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    match rustix::event::poll(fds, timeout.as_ref()) {
        Ok(0) => Ok(Woken::Deadline),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(Woken::Changed),
        Err(error) => Err(error.into()),
    }
}

thread_local! {
    /// The signal descriptor of the last pen, for the next one in this thread.
    static CHILD_SIGNALS: Cell<Option<SignalFd>> = const { Cell::new(None) };
}

fn child_signals() -> io::Result<SignalFd> {
    CHILD_SIGNALS.take().map_or_else(|| SignalFd::new(&[Signal::CHILD.as_raw()]), Ok)
}

impl Drop for Pen {
    fn drop(&mut self) {
        // Only for this thread: in another one the signal is not blocked. At the end of a thread
        // there is no next pen.
        CHILD_SIGNALS.try_with(|kept| kept.set(self.children.take())).ok();
        if self.removed && !self.children_left {
            *slot() = PenSlot::Free;
            return;
        }
        let left = settle(self.cgroup.take(), &self.others);
        *slot() = left.map_or(PenSlot::Free, PenSlot::Abandoned);
    }
}

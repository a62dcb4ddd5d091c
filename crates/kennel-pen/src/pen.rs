//! The pen: what holds a session's processes, from before the first one runs until the last is gone.
//!
//! One rule: a cgroup if there is one, the subtree below this process always. Empty means that both
//! say so: `populated 0` (or a folder that could be removed), and no children left.

use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use kennel_sys::fault::{CallError, call};
use kennel_sys::identity::ProcessIdentity;
use kennel_sys::namespace::NamespaceInit;
use kennel_sys::pidfd;
use kennel_sys::reap::{self, Reaped, WaitStatus};
use kennel_sys::signals::SignalFd;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::Signal;

use crate::cgroup::{Cgroup, CgroupBase, CgroupRemoval};
use crate::host_support::{HostSupport, NoCgroup};
use crate::limits::{PenLimitError, PenLimits};
use crate::name::PenName;
use crate::process::PenProcess;
use crate::removal::{PenRemoveError, RemovalFailure};
use crate::slot::{PenSlot, place, settle, take_place};
use crate::status::Status;
use crate::subtree::{self, ProcessKey, WalkStep};

/// Which kind of pen is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PenKind {
    /// A cgroup where there is one.
    #[default]
    Auto,
    /// A cgroup, or an error.
    Cgroup,
    /// Only the subtree below the process that launches.
    Subtree,
}

/// Why a pen could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A process holds one pen at a time: an orphan that falls to it must belong to just one.
    #[error("this process already has a pen; start a holder for each further one")]
    Occupied,
    /// A cgroup was asked for.
    #[error("no cgroup pen is possible here")]
    NoCgroup(#[source] NoCgroup),
    /// A limit was asked for that can't be had.
    #[error("the pen can't be limited as asked (--best-effort runs it without)")]
    Limit(#[from] PenLimitError),
    /// A call failed; nothing is left.
    #[error("can't make the pen")]
    Call(#[from] CallError),
}

/// How long a signal to everyone may take to find all those that are forked meanwhile.
const SIGNALLING: Duration = Duration::from_millis(200);

/// How many children one look reaps at most: those who die faster than we reap must not keep us from
/// whatever else there is to do. Their signal is pending, so the next look comes at once.
const MOST_AT_ONCE: u32 = 10_000;

/// A pen, owned by this process. See the [crate documentation](crate) for how to use it.
///
/// A process has one pen at a time and *all its children belong to it*: they are reaped by the pen.
/// Have a process of its own for that ([`crate::holder`]) unless yours is one already. `SIGCHLD` gets
/// blocked in the thread that makes the pen.
///
/// Dropping a pen that is not empty kills what is in it, without waiting.
#[derive(Debug)]
pub struct Pen {
    pub(crate) name: PenName,
    pub(crate) cgroup: Option<Cgroup>,
    /// Set if this process is the init of a pid namespace made for this pen: one call ends all.
    pub(crate) namespace: Option<NamespaceInit>,
    pub(crate) agent: Option<PenAgent>,
    /// Those whom the last round of KILL was not allowed to reach.
    pub(crate) refused: Vec<ProcessKey>,
    /// Children of this process that are none of the session's.
    pub(crate) strangers: HashSet<ProcessKey>,
    /// Those of them that have ended, until somebody asks.
    strangers_ended: Vec<(i32, WaitStatus)>,
    /// How many rounds of KILL there were.
    pub(crate) strikes: u32,
    /// Those whom the last one reached.
    pub(crate) struck: HashSet<ProcessKey>,
    /// What the last look at our children said.
    children_left: bool,
    /// Seen to be empty, and its folder is gone.
    removed: bool,
    children: Option<SignalFd>,
    pub(crate) cpu_before: Duration,
    /// How many the OOM killer had ended when a KILL was first sent: the agent's end may be due to either.
    pub(crate) oom_kills_before: u64,
}

/// The process that was launched.
#[derive(Debug)]
pub(crate) struct PenAgent {
    pub(crate) pidfd: OwnedFd,
    pub(crate) identity: ProcessIdentity,
    pub(crate) status: Option<Status>,
}

/// The status of an agent whose holder has died, if it is not a child of ours that can still tell: the
/// kernel's word to those who are not its parent, or nobody's.
fn status_of_an_orphan(pidfd: BorrowedFd<'_>) -> Option<Status> {
    match reap::reap(pidfd) {
        Ok(None) => None, // it lives, and is ours to reap
        Ok(Some(ended)) => Some(Status::new(ended, false)),
        Err(_) if !pidfd::has_ended(pidfd).unwrap_or(true) => None,
        Err(_) => Some(pidfd::ended(pidfd).map_or_else(
            || Status::Unknown("it ended, and its holder died with its status".into()),
            |ended| Status::new(ended, false),
        )),
    }
}

/// Children that a process has before it owns a pen, for instance from a shell that became it by `exec`.
#[derive(Debug, Clone, Default)]
pub struct OtherChildren(HashSet<ProcessKey>);

impl OtherChildren {
    /// Those that this process has now.
    ///
    /// # Errors
    /// The listing failed.
    pub fn now() -> io::Result<Self> {
        Self::of(subtree::children_of(rustix::process::getpid().as_raw_pid())?)
    }

    /// These children; those among them that have gone are left out.
    ///
    /// # Errors
    /// One could not be looked at.
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
    /// Something happened in the pen, or one of the other descriptors is ready: look.
    Changed,
    /// The deadline passed.
    Deadline,
}

impl Pen {
    /// Makes a pen on this ground.
    ///
    /// # Errors
    /// See [`CreateError`]; nothing is left then.
    pub fn create(ground: &HostSupport, name: PenName, kind: PenKind) -> Result<Self, CreateError> {
        Self::create_limited(ground, name, kind, &PenLimits::default()).map(|(pen, _)| pen)
    }

    /// Makes a pen on this ground, with limits that hold before anybody is in it. Those that can't be had are
    /// told, if a pen without them is better than none.
    ///
    /// # Errors
    /// See [`CreateError`]; nothing is left then, but for what [`HostSupport::limits`] says.
    pub fn create_limited(
        ground: &HostSupport,
        name: PenName,
        kind: PenKind,
        limits: &PenLimits,
    ) -> Result<(Self, Vec<PenLimitError>), CreateError> {
        let base = match (kind, ground.cgroup()) {
            (PenKind::Subtree, _) | (PenKind::Auto, Err(_)) => None,
            (_, Ok(base)) => Some(base),
            (PenKind::Cgroup, Err(why)) => return Err(CreateError::NoCgroup(why.clone())),
        };
        let (settings, mut unmet) = ground.prepare(limits, base, kind)?;
        let taken = take_place()?;
        call("prctl subreaper", reap::become_subreaper)?;
        let children = call("signalfd", child_signals)?;
        let cgroup = base.map(|base| Cgroup::create(base, &name)).transpose()?;
        std::mem::forget(taken); // from here on the pen's own drop gives the place back, and removes the folder
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

    /// Takes over the pen of a holder that has died: its cgroup by name, if it had one, and its orphans,
    /// which fell to this process if it was a subreaper already. The agent, if its handle was kept.
    ///
    /// # Errors
    /// See [`CreateError`]; what was there is still there then.
    ///
    /// `strangers` are children that this process had before: they are none of the session's.
    pub fn take_over(
        name: PenName,
        cgroup: Option<&Path>,
        agent: Option<(OwnedFd, ProcessIdentity)>,
        strangers: OtherChildren,
    ) -> Result<Self, CreateError> {
        let taken = take_place()?;
        call("prctl subreaper", reap::become_subreaper)?;
        let children = call("signalfd", child_signals)?;
        let cgroup = match cgroup.and_then(|path| Some((path, path.parent()?))) {
            None => None,
            Some((path, base)) => {
                Cgroup::claim(&CgroupBase::open(base)?.fd, &name.to_string(), path)?
            }
        };
        std::mem::forget(taken);
        let mut pen = Self::new(name, cgroup, children);
        pen.strangers = strangers.0;
        pen.agent = agent.map(|(pidfd, identity)| {
            let status = status_of_an_orphan(pidfd.as_fd());
            PenAgent { pidfd, identity, status }
        });
        Ok(pen)
    }

    fn new(name: PenName, cgroup: Option<Cgroup>, children: SignalFd) -> Self {
        Self {
            name,
            cgroup,
            namespace: None,
            agent: None,
            refused: Vec::new(),
            strangers: HashSet::new(),
            strangers_ended: Vec::new(),
            strikes: 0,
            struck: HashSet::new(),
            children_left: false,
            removed: false,
            children: Some(children),
            cpu_before: reap::reaped_cpu(),
            oom_kills_before: 0,
        }
    }

    /// A child that was made since, and is none of the session's either.
    ///
    /// # Errors
    /// It could not be looked at.
    pub fn add_stranger(&mut self, pid: i32) -> io::Result<()> {
        self.strangers.extend(subtree::open(pid)?.map(|found| found.mark));
        Ok(())
    }

    /// The strangers that were found to have ended since the last time: they were reaped here, as all
    /// children of this process are.
    pub fn strangers_ended(&mut self) -> Vec<(i32, WaitStatus)> {
        std::mem::take(&mut self.strangers_ended)
    }

    /// This process is the init of a pid namespace made for this pen: one call ends all.
    pub fn in_namespace(&mut self, init: NamespaceInit) {
        self.namespace = Some(init);
    }

    /// Opens now what ending this pen will need, in place of at the first need: for a pen that lasts.
    ///
    /// # Errors
    /// The call that failed.
    pub fn arm(&self) -> Result<(), CallError> {
        self.cgroup.as_ref().map_or(Ok(()), Cgroup::open_all)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &PenName {
        &self.name
    }

    /// The folder of its cgroup, if it has one.
    #[must_use]
    pub fn cgroup_path(&self) -> Option<&Path> {
        self.cgroup.as_ref().map(Cgroup::path)
    }

    /// Which process was launched, once one was.
    #[must_use]
    pub fn agent(&self) -> Option<&ProcessIdentity> {
        self.agent.as_ref().map(|agent| &agent.identity)
    }

    /// A handle on the process that was launched.
    #[must_use]
    pub fn agent_pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.agent.as_ref().map(|agent| agent.pidfd.as_fd())
    }

    /// The agent's status, once it has ended and was reaped.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        self.agent.as_ref().and_then(|agent| agent.status.as_ref())
    }

    /// Collects all children that have ended; says whether any child is left.
    pub(crate) fn reap(&mut self) -> io::Result<bool> {
        // However many children ended, the signal is pending once.
        let _pending_or_not = self.children.as_ref().map_or(Ok(None), SignalFd::next)?;
        for _ in 0..MOST_AT_ONCE {
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
                        let killed = matches!(ended, WaitStatus::Signal { signal: 9, .. });
                        agent.status = Some(Status::new(ended, killed && oom()));
                    } else if !self.strangers.is_empty() {
                        let stranger = self.strangers.extract_if(|mark| mark.pid == pid).next();
                        self.strangers_ended.extend(stranger.map(|mark| (mark.pid, ended)));
                    }
                }
            }
        }
        self.children_left = true;
        Ok(true)
    }

    /// Whether one of our children is no stranger.
    fn has_own_children(&self) -> io::Result<bool> {
        if self.strangers.is_empty() {
            return Ok(true);
        }
        for pid in subtree::children_of(rustix::process::getpid().as_raw_pid())? {
            if subtree::open(pid)?.is_some_and(|found| !self.strangers.contains(&found.mark)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether nobody is left, by both proofs.
    ///
    /// # Errors
    /// The question could not be answered: the pen counts as occupied.
    pub fn is_empty(&mut self) -> io::Result<bool> {
        Ok(!self.reap()? && !self.populated()?)
    }

    pub(crate) fn populated(&self) -> io::Result<bool> {
        self.cgroup.as_ref().map_or(Ok(false), Cgroup::populated)
    }

    /// Waits until something happens in the pen, one of `others` is readable, or the deadline passes.
    ///
    /// # Errors
    /// What `poll` said.
    pub fn wait(&self, deadline: Option<Instant>, others: &[BorrowedFd<'_>]) -> io::Result<Woken> {
        let others = others.iter().map(|fd| PollFd::new(fd, PollFlags::IN));
        self.wait_also_for(deadline, &mut others.collect())
    }

    /// As [`Self::wait`], for others that are waited for in other ways than by reading. What they are ready for
    /// is in them afterwards.
    ///
    /// # Errors
    /// What `poll` said.
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
        // Ready from one change to the next *read*, which `is_empty` does only when no child is left. As
        // long as there is one, its end is what we wait for.
        let events = self.cgroup.as_ref().filter(|_| !self.children_left).and_then(Cgroup::events);
        if let Some(events) = events {
            fds.push(PollFd::from_borrowed_fd(events, PollFlags::PRI));
        }
        let woken = poll(fds, deadline);
        fds.truncate(others);
        woken
    }

    /// Waits until the agent has ended.
    ///
    /// # Errors
    /// What the kernel said; the deadline is no error but `None`.
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

    /// Waits until nobody is left; says whether that came true before the deadline.
    ///
    /// # Errors
    /// What the kernel said: the pen counts as occupied.
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

    /// Who is in it now.
    ///
    /// # Errors
    /// The listing failed, which says nothing about who is there.
    pub fn members(&self) -> io::Result<Vec<PenProcess>> {
        Ok(self.pids()?.into_iter().filter_map(PenProcess::look).collect())
    }

    pub(crate) fn pids(&self) -> io::Result<Vec<i32>> {
        let mut pids = Vec::new();
        subtree::walk(&self.strangers, |found| {
            pids.push(found.mark.pid);
            Ok(WalkStep::On)
        })?;
        if let Some(cgroup) = &self.cgroup {
            pids.extend(cgroup.pids()?);
        }
        pids.sort_unstable();
        pids.dedup();
        Ok(pids)
    }

    /// The CPU time used by everyone who was in it, when nobody is any more.
    ///
    /// # Errors
    /// The cgroup can't be read.
    pub fn final_cpu(&self) -> io::Result<Duration> {
        let reaped = || reap::reaped_cpu().saturating_sub(self.cpu_before);
        let counted = self.cgroup.as_ref().map(Cgroup::cpu).transpose()?.flatten();
        Ok(counted.unwrap_or_else(reaped))
    }

    /// Sends a signal to everyone in it, through handles; those that appear meanwhile get it too.
    ///
    /// TERM is followed by CONT, so that a stopped process can act on it.
    ///
    /// # Errors
    /// The listing failed, or the kernel refused other than by permission.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        if signal == Signal::KILL {
            self.reap()?;
            self.note_oom_kills();
        }
        if let Some(init) = self.namespace {
            init.signal_others(signal)?;
        } else {
            self.signal_until_none_is_new(signal, SIGNALLING)?;
        }
        if signal == Signal::TERM {
            return self.signal(Signal::CONT);
        }
        Ok(())
    }

    /// Sends HUP to those in it that ignore TERM, as an interactive shell does: that its terminal is gone is what they
    /// end for. Whoever acts on TERM is left to it.
    ///
    /// # Errors
    /// The listing failed, or the kernel refused other than by permission.
    pub fn hang_up(&mut self) -> io::Result<()> {
        subtree::hang_up(&self.strangers, Instant::now() + SIGNALLING)
    }

    /// A process that was forked during one round is found in the next. Enough is enough: against those
    /// that fork faster than we look only a kill wins.
    pub(crate) fn signal_until_none_is_new(
        &mut self,
        signal: Signal,
        longest: Duration,
    ) -> io::Result<()> {
        let deadline = Instant::now() + longest;
        let mut done = HashSet::new();
        loop {
            // The dead would only make the next look longer.
            self.reap()?;
            let round = subtree::signal(signal, &done, &self.strangers, Some(deadline))?;
            if round.sent.is_empty() || Instant::now() >= deadline {
                return Ok(());
            }
            done.extend(round.sent);
            done.extend(round.refused);
        }
    }

    /// Removes an empty pen.
    ///
    /// # Errors
    /// It is not empty, or its folder could not be removed. The pen comes back: it is still owned.
    pub fn remove(mut self) -> Result<(), PenRemoveError> {
        match self.try_remove() {
            Ok(()) => Ok(()),
            Err(why) => Err(PenRemoveError { pen: Box::new(self), why }),
        }
    }

    /// Removes an empty pen, which is over then. As [`Self::remove`], for those who keep the value.
    ///
    /// # Errors
    /// See [`RemovalFailure`].
    pub fn try_remove(&mut self) -> Result<(), RemovalFailure> {
        if self.reap().map_err(|error| RemovalFailure::Call(CallError::new("waitid", error)))? {
            return Err(RemovalFailure::Occupied);
        }
        if let Some(cgroup) = &self.cgroup {
            match cgroup.remove().map_err(RemovalFailure::Call)? {
                CgroupRemoval::Busy => return Err(RemovalFailure::Occupied),
                CgroupRemoval::Yes => self.cgroup = None,
            }
        }
        self.removed = true;
        Ok(())
    }
}

/// Polls; an interruption by a signal counts as a change.
pub(crate) fn poll(fds: &mut [PollFd<'_>], deadline: Option<Instant>) -> io::Result<Woken> {
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
    /// The last pen's, for the next one in this thread.
    static CHILD_SIGNALS: Cell<Option<SignalFd>> = const { Cell::new(None) };
}

fn child_signals() -> io::Result<SignalFd> {
    CHILD_SIGNALS.take().map_or_else(|| SignalFd::new(&[Signal::CHILD.as_raw()]), Ok)
}

impl Drop for Pen {
    fn drop(&mut self) {
        // Another thread would not have the signal blocked, so this is for this one alone. At the end of a
        // thread there is no next.
        CHILD_SIGNALS.try_with(|kept| kept.set(self.children.take())).ok();
        if self.removed && !self.children_left {
            *place() = PenSlot::Free;
            return;
        }
        let left = settle(self.cgroup.take(), &self.strangers);
        *place() = left.map_or(PenSlot::Free, PenSlot::Abandoned);
    }
}

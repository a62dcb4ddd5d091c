//! Ending a session's pen without its keeper, which is dead or does not answer.
//!
//! ```text
//! keeper alive? ── KILL, by a proven handle ── its outcome? ── it had seen the end itself
//!                                               └ none ── cgroup: ended and removed
//!                                                      ── orphans: ended by the yard
//!                                                      ── the agent's status from the kernel
//! ```
//! If the yard of the launch is dead too, the cgroup is the only proof; without one the daemon can
//! no longer observe whether a process is left.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kennel_core::{Event, PenEnd};
use kennel_keeper::fault::point;
use kennel_keeper::journal::{JournalItem, JournalReader, JournalWriter, LossReason};
use kennel_keeper::protocol::{OUTCOME_FILE, OutcomeFile};
use kennel_pen::{HostSupport, PenName};
use kennel_sys::clone::DISMISSED;
use kennel_sys::identity::ProcessIdentity;
use kennel_sys::pidfd::{self, SignalDelivery};
use kennel_sys::reap::WaitStatus;
use kennel_types::{Exit, Survivor};
use rustix::fd::OwnedFd;
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout_at};

use crate::keeper::link::KeeperSocket;
use crate::keeper::lock::{self, Era, NotedPen};
use crate::keeper::process;
use crate::keeper::request::KeeperConnection;
use crate::keeper::translate::{self, TimeLimits};
use crate::os::home::JOURNAL;
use crate::os::{clock, if_exists, proc, unblocked};
use crate::recover::clean_up::end_leftover;
use crate::recover::yard_proof::{Proof, YardProof};

const KEEPER_TIMEOUT: Duration = Duration::from_secs(5);
const CGROUP_TIMEOUT: Duration = Duration::from_secs(5);
const ORPHANS_TIMEOUT: Duration = Duration::from_secs(10);
const AGENT_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between checks of something that sends no notification.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) name: PenName,
    pub(crate) folder: PathBuf,
    pub(crate) cgroup: KnownCgroup,
    pub(crate) agent: Option<Arc<OwnedFd>>,
    pub(crate) identity: Option<ProcessIdentity>,
    pub(crate) opened: bool,
    /// The keeper's pid and the connection to it, unless they belong to different processes.
    pub(crate) keeper: Option<(i32, Arc<KeeperSocket>)>,
    pub(crate) yard: ProcessIdentity,
    pub(crate) yard_lives: bool,
    pub(crate) proof: YardProof,
    pub(crate) limits: TimeLimits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KnownCgroup {
    None,
    At(PathBuf),
    /// It may have a cgroup, to be found by name.
    Somewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskedYard {
    /// No yard in this boot and pid namespace: there is no keeper.
    None,
    Ours,
    Former,
}

impl Ending {
    pub(crate) async fn run(mut self) -> Vec<Event> {
        point("daemon.end_pen.begun");
        let events = self.end().await.unwrap_or_else(|error| {
            vec![Event::PenEnded(PenEnd::Failed { why: error.to_string() })]
        });
        point("daemon.end_pen.done");
        events
    }

    async fn end(&mut self) -> io::Result<Vec<Event>> {
        let asked = match lock::look(&self.folder)?.map(|lock| lock.origin) {
            Some(None | Some((_, Era::Other))) => AskedYard::None,
            Some(Some((_, Era::Copied))) => {
                let why = "its folder was copied from another home".into();
                return Ok(vec![Event::PenEnded(PenEnd::Unobservable { why })]);
            }
            Some(Some((origin, Era::Ours))) => {
                let is_ours = origin.yard == self.yard && self.yard_lives;
                if is_ours { AskedYard::Ours } else { AskedYard::Former }
            }
            // If a process is on record, a missing lock proves nothing: the keeper may live.
            None if self.identity.is_some() => AskedYard::Former,
            // The lock was not made yet, or was removed. The proof below the yard decides.
            None => AskedYard::Ours,
        };
        if let Some(survivors) = self.end_keeper().await? {
            return Ok(vec![still_alive(survivors)]);
        }
        point("daemon.end_pen.keeper_ended");
        self.learn_from_note()?;
        if let Some(outcome) = OutcomeFile::read(&self.folder.join(OUTCOME_FILE))? {
            // The keeper had seen the pen empty before it ended.
            let pen = if let KnownCgroup::At(path) = &self.cgroup { path.to_str() } else { None };
            let owes = translate::owed(&outcome, pen).map(|what| Event::Owes { what });
            return Ok(owes.into_iter().chain([translate::gone(&outcome, self.limits)]).collect());
        }
        let had_cgroup = match self.end_cgroup().await? {
            Ok(had_cgroup) => had_cgroup,
            Err(survivors) => return Ok(vec![still_alive(survivors)]),
        };
        point("daemon.end_pen.cgroup_ended");
        let event = self.end_rest(asked, had_cgroup).await?;
        // No process will write to its journal any more.
        let is_end =
            matches!(event, Event::PenEnded(PenEnd::Empty { .. } | PenEnd::Unobservable { .. }));
        if is_end && !self.was_never_opened()? {
            let (name, journal) = (self.name.clone(), self.folder.join(JOURNAL));
            if let Err(error) = unblocked(move || mark_gap(&journal)).await {
                tracing::warn!(pen = %name, %error, "can't mark the gap in the output");
            }
        }
        Ok(vec![event])
    }

    /// Takes from the keeper's note what the register lacks; it was written before the gate was
    /// opened.
    fn learn_from_note(&mut self) -> io::Result<()> {
        let Some(note) = lock::read_note(&self.folder)? else { return Ok(()) };
        self.identity = self.identity.take().or(note.agent);
        if self.cgroup == KnownCgroup::Somewhere {
            self.cgroup = match note.pen {
                Some(NotedPen::Cgroup(path)) => KnownCgroup::At(path),
                Some(NotedPen::Subtree) => KnownCgroup::None,
                None => KnownCgroup::Somewhere,
            };
        }
        Ok(())
    }

    /// Makes sure that the keeper is dead: then its lock is free. Returns what can't be ended.
    async fn end_keeper(&self) -> io::Result<Option<Vec<Survivor>>> {
        let deadline = Instant::now() + KEEPER_TIMEOUT;
        loop {
            let held = match lock::look(&self.folder)? {
                Some(lock) => lock.held,
                // The lock was removed; a keeper that is still connected has it open anyway.
                None => self.is_connected()?,
            };
            if !held {
                return Ok(None);
            }
            let Some((pid, handle)) = self.keeper_handle()? else {
                if Instant::now() >= deadline {
                    let why = "its lock is held, but no keeper can be found";
                    return Err(io::Error::other(why));
                }
                sleep(PAUSE).await; // it is about to end, or has just started
                continue;
            };
            if pidfd::send(&handle, Signal::KILL)? == SignalDelivery::NotPermitted {
                return Err(io::Error::other("not permitted to signal its keeper"));
            }
            if timeout_at(deadline, process::ended(&handle)).await.is_err() {
                // It hangs in the kernel. Its processes are ended without it.
                unblocked(move || proc::kill_tree(pid, handle)).await?;
                return Ok(Some(proc::survivor(pid).into_iter().collect()));
            }
        }
    }

    fn is_connected(&self) -> io::Result<bool> {
        let Some((_, socket)) = &self.keeper else { return Ok(false) };
        Ok(!process::has_hung_up(socket.get_ref().as_fd())?)
    }

    /// Returns a handle to the keeper, if it is proven to be the keeper's.
    fn keeper_handle(&self) -> io::Result<Option<(i32, OwnedFd)>> {
        if let Ok(connection) = KeeperConnection::connect(&self.folder) {
            let pid = connection.peer()?;
            if let Some(handle) = process::open(pid, connection.as_fd())? {
                return Ok(Some((pid, handle)));
            }
        }
        let Some((pid, socket)) = &self.keeper else { return Ok(None) };
        let handle = process::open(*pid, socket.get_ref().as_fd())?;
        Ok(handle.map(|handle| (*pid, handle)))
    }

    /// Ends and removes the cgroup, if there is one. Returns whether the pen had one, or the
    /// survivors.
    async fn end_cgroup(&self) -> io::Result<Result<bool, Vec<Survivor>>> {
        let (name, known) = (self.name.clone(), self.cgroup.clone());
        let deadline = std::time::Instant::now() + CGROUP_TIMEOUT;
        unblocked(move || {
            let folders = match known {
                KnownCgroup::None => return Ok(Ok(false)),
                KnownCgroup::At(path) => vec![path],
                KnownCgroup::Somewhere => {
                    HostSupport::find_pens(&name).map_err(io::Error::other)?
                }
            };
            for folder in &folders {
                let left = end_leftover(folder, &name, deadline)?;
                if !left.is_empty() {
                    return Ok(Err(left.into_iter().filter_map(proc::survivor).collect()));
                }
            }
            Ok(Ok(!folders.is_empty()))
        })
        .await
    }

    /// Ends the processes that were not in the cgroup, and proves that none is left.
    async fn end_rest(&mut self, asked: AskedYard, had_cgroup: bool) -> io::Result<Event> {
        match asked {
            AskedYard::None => {}
            AskedYard::Ours => {
                // The yard may have been stopped.
                if let Some(yard) = self.yard.open()? {
                    let _sent_or_gone = pidfd::send(&yard, Signal::CONT)?;
                }
                let deadline = Instant::now() + ORPHANS_TIMEOUT;
                if let Proof::NotYet(left) = self.proof.wait(deadline).await? {
                    let survivors: Vec<_> = left.into_iter().filter_map(proc::survivor).collect();
                    if survivors.is_empty() {
                        return Err(io::Error::other("the yard has not finished yet"));
                    }
                    return Ok(still_alive(survivors));
                }
            }
            AskedYard::Former => {
                self.end_agent().await?;
                // A process behind a closed gate exits when the keeper that could open it is gone.
                if !had_cgroup && !self.was_never_opened()? {
                    let why = "its keeper and its yard are dead, and its pen had no cgroup: whether a process is \
                               left can no longer be observed";
                    return Ok(Event::PenEnded(PenEnd::Unobservable { why: why.into() }));
                }
            }
        }
        Ok(Event::PenEnded(PenEnd::Empty { exit: self.exit()? }))
    }

    /// Kills the agent and the processes below it, if it is still the recorded process.
    async fn end_agent(&self) -> io::Result<()> {
        let Some(identity) = &self.identity else { return Ok(()) };
        let handle = match &self.agent {
            Some(handle) => Some(handle.try_clone()?),
            None => identity.open()?,
        };
        let Some(handle) = handle else { return Ok(()) };
        if pidfd::has_ended(handle.as_fd())? {
            return Ok(());
        }
        let identity = identity.clone();
        let killed = unblocked(move || {
            if identity.exists()? {
                return proc::kill_tree(identity.pid, handle);
            }
            // Its pid belongs to another namespace. All processes there ended with the keeper.
            let _killed_or_gone = pidfd::send(&handle, Signal::KILL)?;
            Ok(vec![handle])
        });
        let deadline = Instant::now() + AGENT_TIMEOUT;
        for handle in killed.await? {
            if timeout_at(deadline, process::ended(&handle)).await.is_err() {
                return Err(io::Error::other("its remaining processes do not end"));
            }
        }
        Ok(())
    }

    /// Returns the agent's status as the kernel reports it, or that there was no agent.
    fn exit(&self) -> io::Result<Option<Exit>> {
        if self.was_never_opened()? {
            return Ok(Some(Exit::NeverRan));
        }
        let agent = self.agent.as_ref();
        let ended = agent.and_then(|agent| pidfd::ended(agent.as_fd()));
        // A process that died behind its gate has a status too, but not a program's.
        let ended = ended.filter(|ended| self.opened || *ended != WaitStatus::Code(DISMISSED));
        Ok(ended.map(translate::exit_by_kernel))
    }

    /// Whether the keeper's files show that it did not get as far as creating a process: first it
    /// reserves the space for the outcome, and it writes the note of the agent before the gate is
    /// opened.
    fn was_never_opened(&self) -> io::Result<bool> {
        if self.identity.is_some() {
            return Ok(false);
        }
        if !self.folder.join(OUTCOME_FILE).try_exists()? {
            return Ok(true);
        }
        let note = if_exists(std::fs::read_to_string(self.folder.join(lock::LOCK)))?;
        // The file may be removed already.
        Ok(note.is_some_and(|note| !note.lines().any(|line| line.starts_with("agent "))))
    }
}

/// Marks, once, that output was lost which the killed keeper had read and not written.
fn mark_gap(journal: &Path) -> io::Result<()> {
    let mut reader = JournalReader::open(journal)?;
    let end = reader.end()?;
    reader.seek(end)?;
    match reader.next()? {
        JournalItem::Gap { why: LossReason::KeeperDied, .. } => Ok(()),
        _ => JournalWriter::mark_gap_in(journal, clock::now_ms(), None, LossReason::KeeperDied),
    }
}

fn still_alive(survivors: Vec<Survivor>) -> Event {
    Event::PenEnded(PenEnd::StillAlive { survivors })
}

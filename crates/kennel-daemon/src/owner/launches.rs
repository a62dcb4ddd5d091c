//! What the daemon knows of a session beyond the state that the core decides on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use kennel_core::Session;
use kennel_register::{NewEvent, SessionTimes};
use kennel_types::SessionId;
use rustix::fd::OwnedFd;
use tokio::sync::watch;

use crate::adopted::process::Handle;
use crate::keeper::deadline::Deadline;
use crate::keeper::link::KeeperLink;
use crate::launch::request::LaunchRequest;
use crate::os::AbortOnDrop;
use crate::owner::listing::CachedJson;
use crate::owner::relaunch::Resume;
use crate::owner::waiters::Waiter;
use crate::recover::yard_proof::KeeperFate;
use crate::worktree::tasks::GitEnvironment;

/// The first pause before another try; it doubles each time …
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// … up to this.
const LAST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct Launches {
    runtimes: HashMap<SessionId, Runtime>,
    /// Live sessions with a parent: a step of another session may change them.
    children: HashSet<SessionId>,
}

impl Launches {
    pub(super) fn insert(&mut self, id: &SessionId, runtime: Runtime) {
        self.runtimes.insert(id.clone(), runtime);
    }

    pub(super) fn remove(&mut self, id: &SessionId) {
        self.runtimes.remove(id);
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<&Runtime> {
        self.runtimes.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &SessionId) -> Option<&mut Runtime> {
        self.runtimes.get_mut(id)
    }

    pub(super) fn update(&mut self, id: &SessionId, change: impl FnOnce(&mut Runtime)) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            change(runtime);
        }
    }

    pub(super) fn link(&self, id: &SessionId) -> Option<&KeeperLink> {
        self.get(id)?.link.as_ref()
    }

    pub(super) fn keeper_pid(&self, id: &SessionId) -> Option<i32> {
        self.get(id)?.keeper_pid
    }

    pub(super) fn unsaved(&self) -> Vec<SessionId> {
        let unsaved = self.runtimes.iter().filter(|(_, runtime)| runtime.unsaved);
        unsaved.map(|(id, _)| id.clone()).collect()
    }

    /// Notes a live session that has a parent.
    pub(super) fn add_child(&mut self, session: &Session) {
        if session.spec.parent.is_some() {
            self.children.insert(session.id.clone());
        }
    }

    pub(super) fn remove_child(&mut self, id: &SessionId) {
        self.children.remove(id);
    }

    /// Returns the sessions that a step of this one can change, itself first.
    pub(super) fn affected_by<'a>(
        &'a self,
        id: &'a SessionId,
    ) -> impl Iterator<Item = &'a SessionId> {
        std::iter::once(id).chain(self.children.iter().filter(move |child| *child != id))
    }
}

/// The runtime state of one launch. It has at most two descriptors: the link's and the agent's.
#[derive(Default)]
pub(super) struct Runtime {
    pub(super) times: SessionTimes,
    /// The order for its keeper, with the environment; none once the keeper was requested.
    pub(super) launch: Option<Box<LaunchRequest>>,
    /// While its worktree is made: set to cancel that.
    pub(super) making: Option<Arc<AtomicBool>>,
    /// What git needs of the client's environment to remove the worktree.
    pub(super) git_environment: Option<GitEnvironment>,
    /// The order for the next keeper, if the restart policy may relaunch the session.
    pub(super) next_launch: Option<Box<LaunchRequest>>,
    /// Whether the yard stores that, or its launch, for the next daemon.
    pub(super) stored: bool,
    pub(super) restart: Option<AbortOnDrop>,
    /// Requests for another launch after this one, which is about to end.
    pub(super) resumers: Vec<Resume>,
    pub(super) link: Option<KeeperLink>,
    /// Whether its keeper has sent its greeting, over any link.
    pub(super) greeted: bool,
    /// The yard's child that is its keeper, or the parent of its keeper.
    pub(super) keeper_pid: Option<i32>,
    pub(super) fate: watch::Sender<KeeperFate>,
    pub(super) agent: Option<Arc<OwnedFd>>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) deadlines: Vec<(Deadline, AbortOnDrop)>,
    pub(super) retry: Option<AbortOnDrop>,
    pause: Option<Duration>,
    /// Whether the folder, lock and order for its keeper are being made.
    pub(super) preparing: bool,
    /// Whether its pen was or is being ended without its keeper: no keeper is requested after that.
    pub(super) ending_pen: bool,
    pub(super) opened: Option<Instant>,
    pub(super) watching: Option<AbortOnDrop>,
    /// When its launch was admitted or left the queue; none once it runs, or if a former daemon
    /// admitted it.
    pub(super) accepted: Option<Instant>,
    pub(super) stop_asked: Option<Instant>,
    pub(super) grace: Duration,
    /// When it ended, as its keeper reported.
    pub(super) ended_ms: Option<u64>,
    pub(super) trouble: Vec<String>,
    pub(super) unsaved: bool,
    /// Events that wait for the next record.
    pub(super) unsaved_events: Vec<NewEvent>,
    pub(super) removing: bool,
    /// The process of an adopted session, while it exists.
    pub(super) followed: Option<Followed>,
    /// Its view, as it was written for the last list.
    pub(super) cached: Option<CachedJson>,
}

pub(super) struct Followed {
    pub(super) handle: Handle,
    /// Reports its end.
    pub(super) _following: AbortOnDrop,
    pub(super) ending: Option<AbortOnDrop>,
}

impl Runtime {
    /// Adds a waiter, and drops those whose client has gone.
    pub(super) fn add_waiter(&mut self, waiter: Waiter) {
        self.waiters.retain(|waiter| !waiter.is_abandoned());
        self.waiters.push(waiter);
    }

    pub(super) fn new(times: SessionTimes) -> Self {
        Self { times, ..Self::default() }
    }

    /// When it started, or was created.
    pub(super) fn since_ms(&self) -> u64 {
        self.times.started_ms.unwrap_or(self.times.created_ms)
    }

    pub(super) fn next_pause(&mut self) -> Duration {
        let pause = self.pause.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LAST_PAUSE));
        self.pause = Some(pause);
        pause
    }

    /// Something has changed: the pauses begin from the shortest again.
    pub(super) fn made_progress(&mut self) {
        self.pause = None;
    }

    pub(super) fn clear_deadline(&mut self, which: Deadline) {
        self.deadlines.retain(|(deadline, _)| *deadline != which);
    }

    /// Drops what only a live process tree needs.
    pub(super) fn release(&mut self) {
        self.deadlines.clear();
        self.watching = None;
        self.agent = None;
        self.launch = None;
        self.followed = None;
    }
}

/// The state of a session before a step, as far as its changes are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) phase: kennel_types::Phase,
    pub(super) stop_wanted: bool,
    pub(super) awaits_verdict: bool,
}

impl From<&Session> for Before {
    fn from(session: &Session) -> Self {
        let (phase, stop_wanted) = (session.phase, session.is_stop_wanted());
        Self { phase, stop_wanted, awaits_verdict: session.awaits_verdict() }
    }
}

#[cfg(test)]
mod tests {
    use kennel_types::api::Until;
    use kennel_types::{IdMaker, LaunchToken, SessionSpec};

    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit_and_start_over_after_progress() {
        let mut runtime = Runtime::default();
        let pauses: Vec<_> = (0..10).map(|_| runtime.next_pause()).collect();
        assert_eq!(pauses[0], FIRST_PAUSE);
        assert_eq!(pauses[1], FIRST_PAUSE * 2);
        assert_eq!(pauses[9], LAST_PAUSE);
        runtime.made_progress();
        assert_eq!(runtime.next_pause(), FIRST_PAUSE);
    }

    #[test]
    fn a_step_affects_the_session_and_the_live_sessions_that_have_a_parent() {
        let mut ids = IdMaker::default();
        let (parent, child) = (ids.next(0, 1), ids.next(1, 1));
        let spec = SessionSpec { parent: Some(parent.clone()), ..SessionSpec::default() };
        let session = Session::new(child.clone(), spec, LaunchToken::new(1), Vec::new());
        let mut launches = Launches::default();
        launches.add_child(&session);
        assert_eq!(launches.affected_by(&parent).collect::<Vec<_>>(), [&parent, &child]);
        assert_eq!(launches.affected_by(&child).collect::<Vec<_>>(), [&child]);
        launches.remove_child(&child);
        assert_eq!(launches.affected_by(&parent).count(), 1);
    }

    #[test]
    fn a_failed_record_is_listed_until_the_launch_is_removed() {
        let id = IdMaker::default().next(0, 1);
        let mut launches = Launches::default();
        launches.update(&id, |_| panic!("it is not on record"));
        launches.insert(&id, Runtime::default());
        assert!(launches.unsaved().is_empty());
        launches.update(&id, |runtime| runtime.unsaved = true);
        assert_eq!(launches.unsaved(), std::slice::from_ref(&id));
        launches.remove(&id);
        assert!(launches.unsaved().is_empty() && launches.get(&id).is_none());
    }

    #[test]
    fn waiters_whose_client_has_gone_are_dropped() {
        let mut runtime = Runtime::default();
        for _ in 0..1000 {
            let (answer, answered) = tokio::sync::oneshot::channel();
            runtime.add_waiter(Waiter::Until(Until::Over, answer));
            drop(answered);
        }
        assert_eq!(runtime.waiters.len(), 1);
    }
}

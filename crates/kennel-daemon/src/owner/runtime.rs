//! What the daemon has of a session beyond what the core decides by.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use kennel_core::Session;
use rustix::fd::OwnedFd;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::deadline::Deadline;
use crate::effects::terminal::{Errand, Handle};
use crate::effects::worktree::Environment;
use crate::effects::yard_proof::KeeperFate;
use crate::keeper_link::KeeperLink;
use crate::listing::Written;
use crate::message::Resume;
use crate::order::NewLaunch;
use crate::readiness::Watching;
use crate::waiters::Waiter;
use kennel_register::SessionTimes;

/// The first pause before another try; doubled each time …
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// … up to this.
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// See the module. At most two descriptors: the link's and the agent's.
#[derive(Default)]
pub(super) struct Runtime {
    pub(super) times: SessionTimes,
    /// Until its keeper is asked for: what the keeper will be told, environment and all.
    pub(super) launch: Option<Box<NewLaunch>>,
    /// While its worktree is made: set if nobody wants it any more.
    pub(super) making: Option<Arc<AtomicBool>>,
    /// What git needs of its client's environment, to remove its worktree with.
    pub(super) git_environment: Option<Environment>,
    /// If it is launched again when it fails: what the next keeper will be told.
    pub(super) again: Option<Box<NewLaunch>>,
    /// Whether the yard keeps that, or its launch, for the next daemon.
    pub(super) kept: bool,
    /// Another launch is due then.
    pub(super) restart: Option<AbortHandle>,
    /// Those who want another launch after this one, which is about to end.
    pub(super) resumers: Vec<Resume>,
    pub(super) link: Option<KeeperLink>,
    /// Whether its keeper has greeted, over any link.
    pub(super) greeted: bool,
    /// The yard's child that is its keeper, or holds it.
    pub(super) keeper_pid: Option<i32>,
    pub(super) fate: watch::Sender<KeeperFate>,
    pub(super) agent: Option<Arc<OwnedFd>>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) deadlines: Vec<(Deadline, AbortHandle)>,
    pub(super) retry: Option<AbortHandle>,
    pause: Option<Duration>,
    /// Whether folder, lock and order for its keeper are being made.
    pub(super) preparing: bool,
    /// Whether its pen was ended, or is being, without its keeper: none is asked for after that.
    pub(super) ending_pen: bool,
    /// When its gate was opened.
    pub(super) opened: Option<Instant>,
    /// Somebody looks whether it is up.
    pub(super) watching: Option<Watching>,
    /// When its launch was taken in, or had its turn; none once it runs, or if a former daemon took it in.
    pub(super) accepted: Option<Instant>,
    /// When its end was first wanted.
    pub(super) stop_asked: Option<Instant>,
    /// The grace of the last stop.
    pub(super) grace: Duration,
    /// When it ended, by its keeper's word.
    pub(super) ended_ms: Option<u64>,
    /// What its keeper had trouble with before the agent ran.
    pub(super) trouble: Vec<String>,
    /// Whether its last record failed.
    pub(super) unsaved: bool,
    /// Whether its folder is being removed.
    pub(super) removing: bool,
    /// The process of a session that a user started, while it is there.
    pub(super) followed: Option<Followed>,
    /// Its view, as the last list had it.
    pub(super) written: Option<Written>,
}

/// A process that is followed, without a keeper.
pub(super) struct Followed {
    pub(super) handle: Handle,
    /// Tells of its end.
    pub(super) _following: Errand,
    /// Ends it, if somebody wants that.
    pub(super) ending: Option<Errand>,
}

impl Runtime {
    /// Somebody waits; those who have gone are forgotten.
    pub(super) fn await_with(&mut self, waiter: Waiter) {
        self.waiters.retain(|waiter| !waiter.is_abandoned());
        self.waiters.push(waiter);
    }

    pub(super) fn new(times: SessionTimes) -> Self {
        Self { times, ..Self::default() }
    }

    /// How long to wait before the next try.
    pub(super) fn next_pause(&mut self) -> Duration {
        let pause = self.pause.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LAST_PAUSE));
        self.pause = Some(pause);
        pause
    }

    /// Something has changed: the next try may come soon.
    pub(super) fn made_progress(&mut self) {
        self.pause = None;
    }

    /// Nothing is owed in time any more.
    pub(super) fn clear_deadlines(&mut self) {
        for (_, timer) in self.deadlines.drain(..) {
            timer.abort();
        }
    }

    /// This has come.
    pub(super) fn clear_deadline(&mut self, which: Deadline) {
        self.deadlines.retain(|(deadline, timer)| {
            if *deadline == which {
                timer.abort();
            }
            *deadline != which
        });
    }

    /// Lets go of what only a living tree needs.
    pub(super) fn let_go(&mut self) {
        self.clear_deadlines();
        self.watching = None;
        self.agent = None;
        self.launch = None;
        self.followed = None;
    }
}

/// What was seen of a session before a step.
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
    use super::*;

    #[test]
    fn pauses_double_to_a_bound_and_begin_anew_after_progress() {
        let mut runtime = Runtime::default();
        let pauses: Vec<_> = (0..10).map(|_| runtime.next_pause()).collect();
        assert_eq!(pauses[0], FIRST_PAUSE);
        assert_eq!(pauses[1], FIRST_PAUSE * 2);
        assert_eq!(pauses[9], LAST_PAUSE);
        runtime.made_progress();
        assert_eq!(runtime.next_pause(), FIRST_PAUSE);
    }

    #[test]
    fn those_who_waited_and_went_are_forgotten() {
        let mut runtime = Runtime::default();
        for _ in 0..1000 {
            let (answer, answered) = tokio::sync::oneshot::channel();
            runtime.await_with(Waiter::Settled(answer));
            drop(answered);
        }
        assert_eq!(runtime.waiters.len(), 1);
    }
}

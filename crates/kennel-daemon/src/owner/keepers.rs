//! Reports of keepers and of the yard.

use std::time::{Duration, Instant};

use kennel_core::Event;
use kennel_keeper::fault::point;
use kennel_keeper::protocol::{KeeperReport, Outcome, YardReport};
use kennel_pen::ProcessIdentity;
use kennel_types::{Phase, SessionId};
use rustix::fd::{AsFd, OwnedFd};

use super::Owner;
use crate::keeper::deadline::Deadline;
use crate::keeper::link::{KeeperEvent, KeeperOrigin};
use crate::keeper::translate::{self, TimeLimits};
use crate::keeper::yard::YardEvent;
use crate::recover::yard_proof::KeeperFate;

/// How often a keeper that tries to end its pen is asked for its state.
const ASK_AGAIN: Duration = Duration::from_secs(20);

impl Owner {
    pub(super) fn keeper_event(&mut self, event: KeeperEvent) {
        match event {
            KeeperEvent::Report { session, link, report, descriptors } => {
                if self.is_current(&session, link) {
                    self.keeper_reported(&session, report, descriptors);
                }
            }
            KeeperEvent::Closed { session, link } => self.keeper_closed(&session, link),
        }
    }

    fn keeper_reported(&mut self, id: &SessionId, report: KeeperReport, descriptors: Vec<OwnedFd>) {
        match report {
            KeeperReport::Hello { token, .. } => self.greeted(id, &token),
            KeeperReport::Born { identity, cgroup } => {
                self.cleared(id, Deadline::Born);
                let identity = match descriptors.first() {
                    Some(agent) => identity.seen_from_here(agent.as_fd()),
                    None => identity,
                };
                self.keep_agent(id, descriptors);
                self.born(id, &identity, cgroup.map(|path| path.display().to_string()));
            }
            KeeperReport::Running => {
                self.cleared(id, Deadline::Opened);
                point("daemon.launch.running");
                self.apply(id, &Event::Opened);
            }
            KeeperReport::Exited(status) => {
                point("daemon.exit.reported");
                self.apply(id, &Event::Exited { exit: translate::exit(&status) });
            }
            KeeperReport::LeftBehind(members) => {
                let names: Vec<_> =
                    members.iter().map(|m| format!("{} ({})", m.pid, m.name)).collect();
                self.note(Some(id.clone()), "left_behind", names.join(", "));
            }
            KeeperReport::Ending => self.keeper_is_ending(id),
            KeeperReport::StillAlive(survivors) => {
                // The keeper is alive and keeps trying.
                for answered in [Deadline::Ending, Deadline::Dismissed] {
                    self.cleared(id, answered);
                }
                self.arm(id, Deadline::Finished, ASK_AGAIN);
                self.apply(id, &Event::StillAlive { survivors });
            }
            KeeperReport::Gone(outcome) => self.gone(id, &outcome),
            KeeperReport::State(_) => {
                self.cleared(id, Deadline::Answer);
                self.arm(id, Deadline::Finished, ASK_AGAIN);
            }
            KeeperReport::Free => self.keeper_free(id),
            KeeperReport::Trouble(text) => self.keeper_has_trouble(id, text),
            KeeperReport::Refused(why) => {
                tracing::warn!(session = %id, %why, "a keeper refuses a request")
            }
            KeeperReport::Grown(_)
            | KeeperReport::InputTaken(_)
            | KeeperReport::Members(_)
            | KeeperReport::Usage(_) => {}
        }
    }

    /// Problems that do not end a launch are part of the answer to the client.
    fn keeper_has_trouble(&mut self, id: &SessionId, text: String) {
        let launching = self.world.get(id).is_some_and(|session| session.phase < Phase::Running);
        if let Some(runtime) = self.launches.get_mut(id).filter(|_| launching) {
            runtime.trouble.push(text.clone());
        }
        self.note(Some(id.clone()), "trouble", text);
    }

    /// Whether this is the session's current link: reports over a former one are ignored.
    fn is_current(&self, id: &SessionId, link: u64) -> bool {
        self.launches.link(id).is_some_and(|current| current.number == link)
    }

    fn cleared(&mut self, id: &SessionId, deadline: Deadline) {
        self.launches.update(id, |runtime| runtime.clear_deadline(deadline));
    }

    fn greeted(&mut self, id: &SessionId, token: &str) {
        let Some(session) = self.world.get(id) else { return };
        if session.launch.token.secret() != token {
            tracing::error!(session = %id, "a keeper has the token of another launch");
            return self.apply(id, &Event::KeeperLost);
        }
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.greeted = true;
            runtime.clear_deadline(Deadline::Ready);
        }
        point("daemon.launch.keeper_ready");
        self.apply(id, &Event::KeeperReady);
    }

    fn born(&mut self, id: &SessionId, identity: &ProcessIdentity, pen: Option<String>) {
        point("daemon.launch.born");
        let (pid, identity) = (identity.pid, identity.to_record());
        self.apply(id, &Event::Born { identity, pid, pen });
    }

    /// The keeper confirms a stop. From here on the end is due after the grace.
    fn keeper_is_ending(&mut self, id: &SessionId) {
        point("daemon.stop.ending");
        self.cleared(id, Deadline::Ending);
        self.cleared(id, Deadline::Dismissed);
        let Some(runtime) = self.launches.get(id) else { return };
        let grace = runtime.grace;
        if !self.has_ended(id) {
            self.arm(id, Deadline::Finished, grace);
        }
    }

    fn gone(&mut self, id: &SessionId, outcome: &Outcome) {
        point("daemon.exit.gone");
        let pen = self.world.get(id).and_then(|session| session.launch.pen.clone());
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.deadlines.clear();
            runtime.ended_ms = Some(outcome.ended_ms);
        }
        if let Some(what) = translate::owed(outcome, pen.as_deref()) {
            self.apply(id, &Event::Owes { what });
        }
        let limits = self.world.get(id).map(|session| TimeLimits::from(&session.spec));
        self.apply(id, &translate::gone(outcome, limits.unwrap_or_default()));
    }

    fn keeper_closed(&mut self, id: &SessionId, link: u64) {
        self.keepers.spares.release(|spare| spare.link.number == link);
        if !self.is_current(id, link) {
            return;
        }
        let awaits_fork = self.keepers.awaits_fork(id);
        let ended = self.has_ended(id);
        let Some(runtime) = self.launches.get_mut(id) else { return };
        runtime.link = None;
        if ended {
            runtime.deadlines.clear();
            self.forget_keeper(id);
        } else if runtime.preparing {
            // A spare keeper that has not received the launch: once the launch is prepared, a new
            // keeper is requested.
            self.forget_keeper(id);
        } else if runtime.greeted || !awaits_fork {
            self.apply(id, &Event::KeeperLost);
        }
        // Otherwise the yard has not reported yet whether it was forked at all.
    }

    /// Forgets a keeper that has done its work: this yard never reports the end of a former yard's
    /// keeper.
    pub(super) fn forget_keeper(&mut self, id: &SessionId) {
        let Some(runtime) = self.launches.get_mut(id) else { return };
        if let Some(pid) = runtime.keeper_pid.take() {
            self.keepers.remove_of(pid, id);
        }
    }

    /// A keeper has finished its launch and is free for another one.
    fn keeper_free(&mut self, id: &SessionId) {
        let shutting_down = self.shutdown.is_under_way();
        let ended = self.has_ended(id);
        let Some(runtime) = self.launches.get_mut(id) else { return };
        let Some(link) = runtime.link.take() else { return };
        runtime.deadlines.clear();
        if link.origin == KeeperOrigin::Found {
            // It is not reused: orphans of a former yard's keeper do not become children of this
            // yard, an older program may not understand its orders, and its end may never be
            // reported.
            return self.forget_keeper(id);
        }
        // A task that ends the pen without the keeper identifies the keeper by this connection.
        let passed_over = runtime.ending_pen;
        let Some(pid) = runtime.keeper_pid.take() else { return };
        // It stays among the known keepers: a proof that compares them with the yard's children
        // must find it.
        self.keepers.by_pid.insert(pid, id.clone());
        if shutting_down || !ended || passed_over {
            return;
        }
        if let Some(until) = self.keepers.spares.offer(pid, link, Instant::now()) {
            self.arm_spares(until);
        }
    }

    fn arm_spares(&self, until: Instant) {
        let pause = until.saturating_duration_since(Instant::now());
        self.bus.call_later(pause, Self::spares_overdue);
    }

    fn spares_overdue(&mut self) {
        if let Some(until) = self.keepers.spares.release_overdue(Instant::now()) {
            self.arm_spares(until);
        }
    }

    // The yard.

    pub(crate) fn yard_event(&mut self, event: YardEvent) {
        match event {
            YardEvent::Report(report) => self.yard_reported(report),
            YardEvent::Gone => self.yard_gone(),
        }
    }

    fn yard_reported(&mut self, report: YardReport) {
        match report {
            YardReport::Forked { key, pid } => self.forked(key, pid),
            YardReport::NotForked { key, why } => {
                if let Some(id) = self.keepers.forks.remove(&key) {
                    self.not_forked(&id, why);
                }
            }
            YardReport::KeeperEnded { pid, how, left } => self.keeper_ended(pid, &how, left),
            // These are answers to requests from before the owner began.
            YardReport::Kept { .. } | YardReport::KeptAll => {}
            YardReport::Status { keepers, .. } => self.keepers.listed(keepers),
        }
    }

    fn forked(&mut self, key: u64, pid: i32) {
        let Some(id) = self.keepers.forks.remove(&key) else { return };
        point("daemon.launch.forked");
        self.keepers.by_pid.insert(pid, id.clone());
        let ended = self.has_ended(&id);
        let Some(runtime) = self.launches.get_mut(&id) else { return };
        runtime.keeper_pid = Some(pid);
        if runtime.link.is_none() && !ended {
            // It has ended before the yard reported the fork.
            self.apply(&id, &Event::KeeperLost);
        }
    }

    fn keeper_ended(&mut self, pid: i32, how: &str, left: Vec<String>) {
        self.keepers.spares.release(|spare| spare.pid == pid);
        let Some(id) = self.keepers.by_pid.get(&pid).cloned() else {
            return tracing::debug!(pid, how, "a keeper without a launch has ended");
        };
        if !left.is_empty() {
            tracing::warn!(session = %id, ?left, "can't end the orphans of a keeper yet");
        } else {
            self.keepers.by_pid.remove(&pid);
        }
        let ended = self.has_ended(&id);
        let Some(runtime) = self.launches.get_mut(&id) else { return };
        if left.is_empty() {
            runtime.keeper_pid = None;
        }
        runtime.fate.send_replace(KeeperFate::Ended { left });
        // If it has a link, its last reports come first, and then its end.
        if runtime.link.is_none() && !ended {
            tracing::warn!(session = %id, pid, how, "a keeper has ended");
            self.apply(&id, &Event::KeeperLost);
        }
    }

    /// Without a yard nothing can be started. A new yard starts a new daemon, which takes over.
    fn yard_gone(&mut self) {
        let never_forked = self.keepers.yard_gone();
        self.note(None, "yard_lost", "the yard has died".to_owned());
        for id in never_forked {
            self.not_forked(&id, "the yard has died".to_owned());
        }
        self.shutdown.yard_gone();
    }
}

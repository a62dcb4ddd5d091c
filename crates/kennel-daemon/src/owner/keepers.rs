//! What keepers and the yard say.

use std::time::Duration;

use kennel_core::Event;
use kennel_keeper::fault::point;
use kennel_keeper::protocol::{Outcome, Report, YardReport};
use kennel_pen::Identity;
use kennel_types::{Phase, SessionId};
use rustix::fd::{AsFd, OwnedFd};

use super::Owner;
use crate::config::ExitReason;
use crate::convert::{self, TimeLimits};
use crate::deadline::Deadline;
use crate::effects::yard_proof::KeeperFate;
use crate::message::Keepers;

/// How often a keeper that goes on trying is asked whether it still does.
const ASK_AGAIN: Duration = Duration::from_secs(20);

impl Owner {
    pub(super) fn keeper_says(
        &mut self,
        id: &SessionId,
        link: u64,
        report: Report,
        descriptors: Vec<OwnedFd>,
    ) {
        if !self.is_current(id, link) {
            return;
        }
        match report {
            Report::Hello { token, .. } => self.greeted(id, &token),
            Report::Born { identity, cgroup } => {
                self.cleared(id, Deadline::Born);
                let identity = match descriptors.first() {
                    Some(agent) => identity.seen_from_here(agent.as_fd()),
                    None => identity,
                };
                self.keep_agent(id, descriptors);
                self.born(id, &identity, cgroup.map(|path| path.display().to_string()));
            }
            Report::Running => {
                self.cleared(id, Deadline::Opened);
                point("daemon.launch.running");
                self.happen(id, &Event::Opened);
            }
            Report::Exited(status) => {
                point("daemon.exit.told");
                self.happen(id, &Event::Exited { exit: convert::exit(&status) });
            }
            Report::LeftBehind(members) => {
                let names: Vec<_> =
                    members.iter().map(|m| format!("{} ({})", m.pid, m.name)).collect();
                self.note(Some(id.clone()), "left_behind", names.join(", "));
            }
            Report::Ending => self.ending_heard(id),
            Report::StillAlive(survivors) => {
                // It is alive, and goes on trying.
                for answered in [Deadline::Ending, Deadline::Dismissed] {
                    self.cleared(id, answered);
                }
                self.arm(id, Deadline::Finished, ASK_AGAIN);
                let survivors = survivors.iter().map(convert::survivor).collect();
                self.happen(id, &Event::StillAlive { survivors });
            }
            Report::Gone(outcome) => self.gone(id, &outcome),
            Report::State(_) => {
                self.cleared(id, Deadline::Answer);
                self.arm(id, Deadline::Finished, ASK_AGAIN);
            }
            Report::Free => self.keeper_free(id),
            Report::Trouble(text) => self.trouble_heard(id, text),
            Report::Refused(why) => tracing::warn!(session = %id, %why, "a keeper refuses"),
            Report::Grown(_) | Report::InputTaken(_) | Report::Members(_) | Report::Usage(_) => {}
        }
    }

    /// What goes wrong in a launch that goes on all the same is part of the answer to whoever asked for it.
    fn trouble_heard(&mut self, id: &SessionId, text: String) {
        let launching = self.world.get(id).is_some_and(|session| session.phase < Phase::Running);
        if let Some(runtime) = self.runtimes.get_mut(id).filter(|_| launching) {
            runtime.trouble.push(text.clone());
        }
        self.note(Some(id.clone()), "trouble", text);
    }

    /// Whether this is the link that counts: late words over a former one mean nothing.
    fn is_current(&self, id: &SessionId, link: u64) -> bool {
        let runtime = self.runtimes.get(id);
        runtime.and_then(|r| r.link.as_ref()).is_some_and(|current| current.number == link)
    }

    fn cleared(&mut self, id: &SessionId, deadline: Deadline) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.clear_deadline(deadline);
        }
    }

    fn greeted(&mut self, id: &SessionId, token: &str) {
        let Some(session) = self.world.get(id) else { return };
        if session.launch.token.secret() != token {
            tracing::error!(session = %id, "a keeper greets with another launch's token");
            return self.happen(id, &Event::KeeperLost);
        }
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.greeted = true;
            runtime.clear_deadline(Deadline::Ready);
        }
        point("daemon.launch.keeper_ready");
        self.happen(id, &Event::KeeperReady);
    }

    fn born(&mut self, id: &SessionId, identity: &Identity, pen: Option<String>) {
        point("daemon.launch.born");
        let (pid, identity) = (identity.pid, identity.to_record());
        self.happen(id, &Event::Born { identity, pid, pen });
    }

    /// A stop was understood. From here on the end is due after the grace.
    fn ending_heard(&mut self, id: &SessionId) {
        point("daemon.stop.ending");
        self.cleared(id, Deadline::Ending);
        self.cleared(id, Deadline::Dismissed);
        let Some(runtime) = self.runtimes.get(id) else { return };
        let grace = runtime.grace;
        if self.world.get(id).is_some_and(|session| !session.has_ended()) {
            self.arm(id, Deadline::Finished, grace);
        }
    }

    fn gone(&mut self, id: &SessionId, outcome: &Outcome) {
        point("daemon.exit.gone");
        let pen = self.world.get(id).and_then(|session| session.launch.pen.clone());
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.clear_deadlines();
            runtime.ended_ms = Some(outcome.ended_ms);
        }
        if let Some(what) = convert::owed(outcome, pen.as_deref()) {
            self.happen(id, &Event::Owes { what });
        }
        let limits = self.world.get(id).map(|session| TimeLimits::from(&session.spec));
        self.happen(id, &convert::gone(outcome, limits.unwrap_or_default()));
    }

    /// The connection to a keeper has ended.
    pub(super) fn keeper_closed(&mut self, id: &SessionId, link: u64) {
        self.spares.let_go(|spare| spare.link.number == link);
        if !self.is_current(id, link) {
            return;
        }
        let asked_for = self.forks.values().any(|other| other == id);
        let ended = self.world.get(id).is_none_or(|session| session.has_ended());
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        runtime.link = None;
        if ended {
            runtime.clear_deadlines();
            self.forget_keeper(id);
        } else if runtime.preparing {
            // A spare one that does not know of the launch yet: when that is prepared, the yard is asked for another.
            self.forget_keeper(id);
        } else if runtime.greeted || !asked_for {
            self.happen(id, &Event::KeeperLost);
        }
        // Else the yard has still to tell whether there ever was one.
    }

    /// A keeper that has done its work is nobody's to look for; one of a former yard is never told of.
    pub(super) fn forget_keeper(&mut self, id: &SessionId) {
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        if let Some(pid) = runtime.keeper_pid.take()
            && self.keepers.get(&pid) == Some(id)
        {
            self.keepers.remove(&pid);
        }
    }

    // The yard.

    pub(super) fn yard_says(&mut self, report: YardReport) {
        match report {
            YardReport::Forked { key, pid } => self.forked(key, pid),
            YardReport::NotForked { key, why } => {
                if let Some(id) = self.forks.remove(&key) {
                    self.not_forked(&id, why);
                }
            }
            YardReport::KeeperEnded { pid, how, left } => self.keeper_ended(pid, &how, left),
            YardReport::Ended { pid, name } => {
                self.tally.orphans_ended.one_more();
                self.note(None, "orphan_ended", format!("pid {pid} ({name}) fell to the yard"));
            }
            // Asked for once, before we began.
            YardReport::Kept { .. } | YardReport::KeptAll => {}
            YardReport::Status { keepers, .. } => {
                if let Some(answer) = self.keeper_lists.pop_front() {
                    let known = self.keepers.clone();
                    answer.send(Keepers { children: keepers, known }).ok();
                }
            }
        }
    }

    fn forked(&mut self, key: u64, pid: i32) {
        let Some(id) = self.forks.remove(&key) else { return };
        point("daemon.launch.forked");
        self.keepers.insert(pid, id.clone());
        let ended = self.world.get(&id).is_none_or(|session| session.has_ended());
        let Some(runtime) = self.runtimes.get_mut(&id) else { return };
        runtime.keeper_pid = Some(pid);
        if runtime.link.is_none() && !ended {
            // It came and went before the yard told of it.
            self.happen(&id, &Event::KeeperLost);
        }
    }

    fn keeper_ended(&mut self, pid: i32, how: &str, left: Vec<String>) {
        self.spares.let_go(|spare| spare.pid == pid);
        let Some(id) = self.keepers.get(&pid).cloned() else {
            return tracing::debug!(pid, how, "a keeper that is done with has ended");
        };
        if !left.is_empty() {
            tracing::warn!(session = %id, ?left, "orphans of a keeper can't be ended so far");
        } else {
            self.keepers.remove(&pid);
        }
        let ended = self.world.get(&id).is_none_or(|session| session.has_ended());
        let Some(runtime) = self.runtimes.get_mut(&id) else { return };
        if left.is_empty() {
            runtime.keeper_pid = None;
        }
        runtime.fate.send_replace(KeeperFate::Ended { left });
        // With a link its last words come first, and then its end.
        if runtime.link.is_none() && !ended {
            tracing::warn!(session = %id, pid, how, "a keeper has ended");
            self.happen(&id, &Event::KeeperLost);
        }
    }

    /// Without a yard nothing new can be started. A new one brings a new daemon, which takes over.
    pub(super) fn yard_gone(&mut self) {
        self.yard_sender = None;
        self.keeper_lists.clear();
        self.note(None, "yard_lost", "the yard has died".to_owned());
        for (_, id) in std::mem::take(&mut self.forks) {
            self.not_forked(&id, "the yard has died".to_owned());
        }
        if self.leaving.is_none() {
            self.exit = Some(ExitReason::YardGone);
        }
    }
}

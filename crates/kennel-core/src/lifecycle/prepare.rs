//! Before a keeper exists: the queue, and the resources that are created for a session.

use kennel_types::{LaunchFailure, OwedKind, Phase};

use crate::effect::Effect;
use crate::session::{Session, Writing};

use super::first_phase;

impl Session {
    pub(super) fn on_turn_came(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.phase == Phase::Queued && !self.is_stop_wanted() {
            self.phase = first_phase(&self.spec);
            self.record_durably(&mut effects);
        }
        effects
    }

    /// Does what a durable row of this phase allows.
    pub(super) fn prepare(&mut self, recorded: Phase, effects: &mut Vec<Effect>) {
        if self.is_stop_wanted() {
            self.end_unlaunched(effects);
        } else if self.phase == Phase::Making && recorded == Phase::Making {
            self.make(effects);
        } else if self.phase == Phase::Reserved && self.launch.recorded {
            self.start_keeper(effects);
        }
    }

    fn make(&mut self, effects: &mut Vec<Effect>) {
        if let Some(what) = super::worktree(&self.spec)
            && !std::mem::replace(&mut self.underway.making, true)
        {
            effects.push(Effect::Make { what, again: self.id.attempt() > 1 });
        }
    }

    fn start_keeper(&mut self, effects: &mut Vec<Effect>) {
        if std::mem::take(&mut self.underway.unlaunched) {
            effects.push(Effect::StartKeeper);
        }
    }

    pub(super) fn on_made(&mut self, what: &OwedKind) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !self.settle_making(what) {
            return effects;
        }
        if self.is_stop_wanted() {
            self.end_unlaunched(&mut effects);
        } else {
            self.phase = Phase::Reserved;
            self.record_durably(&mut effects);
        }
        effects
    }

    pub(super) fn on_make_failed(&mut self, what: &OwedKind, why: &str) -> Vec<Effect> {
        if !self.settle_making(what) {
            return Vec::new();
        }
        self.reap_unrun(LaunchFailure::Setup, why)
    }

    /// Notes that a resource is not being created any more. Returns whether it was.
    fn settle_making(&mut self, what: &OwedKind) -> bool {
        let asked = super::worktree(&self.spec).as_ref() == Some(what);
        asked && self.phase == Phase::Making && std::mem::take(&mut self.underway.making)
    }

    /// Ends a session that has no keeper yet: there is no process to stop or to probe.
    /// It waits until the stop was recorded, or could not be, so that a new daemon does not launch
    /// it, and until nothing is being created.
    pub(super) fn end_unlaunched(&mut self, effects: &mut Vec<Effect>) {
        let writing = matches!(self.underway.writing, Writing::UnderWay { .. });
        if !self.underway.unlaunched || writing || self.underway.making {
            return;
        }
        let why = "it was called off before it was launched";
        effects.extend(self.reap_unrun(LaunchFailure::Internal, why));
    }

    /// Restores a session from the register. A queued one stays queued, but what an earlier daemon
    /// was creating is not continued: its client is gone, and its progress is unknown.
    pub(super) fn restore_unlaunched(&mut self, effects: &mut Vec<Effect>) {
        // According to the row.
        self.underway.unlaunched = true;
        if self.is_stop_wanted() {
            self.end_unlaunched(effects);
        } else if self.phase == Phase::Making {
            let why = "the daemon was restarted while its worktree was being created";
            effects.extend(self.reap_unrun(LaunchFailure::Internal, why));
        }
    }
}

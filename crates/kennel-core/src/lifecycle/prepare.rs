//! Before there is a keeper: the line, and what is made for a session.

use kennel_types::LaunchFailure;
use kennel_types::{Exit, OwedKind, Phase, Reason};

use crate::effect::Effect;
use crate::session::{Session, Writing};

impl Session {
    pub(super) fn on_turn_came(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.phase == Phase::Queued && !self.is_stop_wanted() {
            let first = if self.spec.worktree.is_some() { Phase::Making } else { Phase::Reserved };
            self.phase = first;
            self.record_durably(&mut effects);
        }
        effects
    }

    /// A row of this phase is durable: what it allows is done.
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
        self.reap(
            &Exit::NeverRan,
            &Reason::Failed { code: LaunchFailure::Setup, why: why.to_owned() },
        )
    }

    /// Whether this was being made; it is not any more.
    fn settle_making(&mut self, what: &OwedKind) -> bool {
        let asked = super::worktree(&self.spec).as_ref() == Some(what);
        asked && self.phase == Phase::Making && std::mem::take(&mut self.underway.making)
    }

    /// Its end is wanted. As long as no keeper was asked for, there is nobody to tell and nobody to look for: it
    /// is over once the wish was put on record, or could not be, so that a new daemon does not take it up again.
    /// What is being made for it is awaited.
    pub(super) fn end_unlaunched(&mut self, effects: &mut Vec<Effect>) {
        let writing = matches!(self.underway.writing, Writing::UnderWay { .. });
        if !self.underway.unlaunched || writing || self.underway.making {
            return;
        }
        let why = "it was called off before it was launched".to_owned();
        effects.extend(
            self.reap(&Exit::NeverRan, &Reason::Failed { code: LaunchFailure::Internal, why }),
        );
    }

    /// A new daemon reads it. In line it stays there; but what a former daemon was making is not continued: its
    /// client is gone with that, and nobody knows how far it came.
    pub(super) fn restore_unlaunched(&mut self, effects: &mut Vec<Effect>) {
        // The row says so.
        self.underway.unlaunched = true;
        if self.is_stop_wanted() {
            self.end_unlaunched(effects);
        } else if self.phase == Phase::Making {
            let why = "the daemon was restarted while its worktree was being made".to_owned();
            effects.extend(
                self.reap(&Exit::NeverRan, &Reason::Failed { code: LaunchFailure::Internal, why }),
            );
        }
    }
}

//! The durable record: one write at a time, so that each answer belongs to its request.
//!
//! The answer to an older record must not be mistaken for that of the outcome: the keeper would be
//! released while it is the only one that has the outcome.

use kennel_types::{LaunchFailure, Phase, Reason};

use crate::effect::Effect;
use crate::session::{Session, Writing};

impl Session {
    pub(super) fn record_durably(&mut self, effects: &mut Vec<Effect>) {
        match &mut self.underway.writing {
            Writing::UnderWay { outdated, .. } => *outdated = true,
            writing @ (Writing::Settled | Writing::Failed) => {
                *writing = Writing::UnderWay { phase: self.phase, outdated: false };
                effects.push(Effect::Record { durable: true });
            }
        }
    }

    /// Requests a record without a sync. Not if a durable record follows: this one could reach the
    /// disk first, and a new daemon would mistake it for durable.
    pub(super) fn note(&self, effects: &mut Vec<Effect>) {
        if !matches!(self.underway.writing, Writing::UnderWay { outdated: true, .. }) {
            effects.push(Effect::Record { durable: false });
        }
    }

    /// Returns whether another record follows the one that is being written.
    #[must_use]
    pub fn is_record_outdated(&self) -> bool {
        matches!(self.underway.writing, Writing::UnderWay { phase, outdated }
            if outdated || (phase < self.phase && self.phase == Phase::Cleaned))
    }

    /// Returns only the effect of [`Session::note`].
    pub(super) fn noted(&self) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.note(&mut effects);
        effects
    }

    /// Notes that a durable record was written. Returns the phase in it, if one was expected.
    pub(super) fn settle_record(&mut self, effects: &mut Vec<Effect>) -> Option<Phase> {
        let follows = self.is_record_outdated();
        let Writing::UnderWay { phase, outdated } = self.underway.writing else { return None };
        self.underway.writing = Writing::Settled;
        if outdated {
            self.record_durably(effects);
        } else if follows {
            self.note(effects);
        }
        Some(phase)
    }

    pub(super) fn on_recorded(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        let Some(phase) = self.settle_record(&mut effects) else { return effects };
        if phase >= Phase::Reaped && !self.underway.released {
            self.underway.released = true;
            effects.push(Effect::Release);
        }
        // A row of a queued session, or of one that waits for a resource, allows no launch.
        self.launch.recorded |= phase >= Phase::Reserved;
        self.prepare(phase, &mut effects);
        self.go_if_due(&mut effects);
        effects
    }

    pub(super) fn on_record_failed(&mut self, why: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        // An unexpected answer is about a record that need not be durable. The next record contains
        // everything.
        if !matches!(self.underway.writing, Writing::UnderWay { .. }) {
            return effects;
        }
        self.underway.writing = Writing::Failed;
        if self.phase <= Phase::Reserved && !self.launch.recorded {
            // Without a row no process may be started.
            self.want_stopped(
                self.spec.grace,
                &Reason::Failed { code: LaunchFailure::Setup, why: why.to_owned() },
            );
            if self.underway.unlaunched {
                self.end_unlaunched(&mut effects);
            } else {
                effects.push(Effect::Dismiss);
            }
        }
        self.retry_later(&mut effects);
        effects
    }
}

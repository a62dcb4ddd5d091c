//! The wish for the end, in any phase, any number of times.

use std::time::Duration;

use crate::effect::Effect;
use crate::event::StopWish;
use crate::session::{Look, Phase, Reason, Session, Wanted};

/// What a wish changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// It is the first.
    First,
    /// It allows less grace than those before.
    Sooner,
    /// Nothing.
    Same,
}

impl Session {
    /// The first reason stays, the shortest grace wins.
    pub(super) fn want_stopped(&mut self, grace: Duration, reason: &Reason) -> Wish {
        self.reason.get_or_insert_with(|| reason.clone());
        let wish = match self.wanted {
            Wanted::Running => Wish::First,
            Wanted::Stopped { grace: before } if grace < before => Wish::Sooner,
            Wanted::Stopped { .. } => return Wish::Same,
        };
        self.wanted = Wanted::Stopped { grace };
        wish
    }

    pub(super) fn on_stop_asked(&mut self, wish: &StopWish) -> Vec<Effect> {
        if self.has_ended() {
            return Vec::new();
        }
        let wish = self.want_stopped(wish.grace.unwrap_or(self.spec.grace), &wish.reason);
        let mut effects = Vec::new();
        match self.phase {
            Phase::Lost => {}
            _ if self.underway.look == Look::EndPenDue => self.end_pen(&mut effects),
            // Whoever looks now honours the wish with what is found.
            _ if !self.hears() => {}
            Phase::Reserved | Phase::Launching => effects.push(Effect::Dismiss),
            Phase::Starting | Phase::Running => effects.extend(self.stop_keeper()),
            Phase::Stopping if wish != Wish::Same => effects.extend(self.stop_keeper()),
            Phase::Stopping | Phase::Reaped | Phase::Cleaned => {}
        }
        match wish {
            Wish::First => self.record_durably(&mut effects),
            Wish::Sooner => self.note(&mut effects),
            Wish::Same => {}
        }
        effects
    }

    /// Tells the keeper to end everything, if it can be told.
    pub(super) fn stop_keeper(&mut self) -> Vec<Effect> {
        if !self.hears() {
            return Vec::new();
        }
        self.phase = Phase::Stopping;
        let grace = match self.wanted {
            Wanted::Stopped { grace } => grace,
            Wanted::Running => self.spec.grace,
        };
        vec![Effect::Stop { grace }]
    }
}

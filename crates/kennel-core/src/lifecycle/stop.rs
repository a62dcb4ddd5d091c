//! The wish for the end, in any phase, any number of times.

use std::time::Duration;

use kennel_types::{Judged, Phase, Reason, RelaunchState};

use crate::effect::Effect;
use crate::event::StopIntent;
use crate::restart::{self, RestartDecision, RestartFacts};
use crate::session::{DesiredState, ProbeState, Session};

/// What a wish changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopChange {
    /// It is the first.
    First,
    /// It allows less grace than those before.
    Sooner,
    /// Nothing.
    Same,
}

impl Session {
    /// The first reason stays, the shortest grace wins.
    pub(super) fn want_stopped(&mut self, grace: Duration, reason: &Reason) -> StopChange {
        self.reason.get_or_insert_with(|| reason.clone());
        let wish = match self.wanted {
            DesiredState::Running => StopChange::First,
            DesiredState::Stopped { grace: before } if grace < before => StopChange::Sooner,
            DesiredState::Stopped { .. } => return StopChange::Same,
        };
        self.wanted = DesiredState::Stopped { grace };
        wish
    }

    pub(super) fn on_stop_asked(&mut self, wish: &StopIntent) -> Vec<Effect> {
        let mut effects = Vec::new();
        let called_off = self.call_off_relaunch(&wish.reason);
        if self.has_ended() {
            if called_off {
                self.record_durably(&mut effects);
            }
            return effects;
        }
        let wish = self.want_stopped(wish.grace.unwrap_or(self.spec.grace), &wish.reason);
        match self.phase {
            Phase::Lost => {}
            _ if self.underway.look == ProbeState::EndPenDue => self.end_pen(&mut effects),
            // Whoever looks now honours the wish with what is found.
            _ if !self.hears() => {}
            // The end comes when the wish is on record.
            _ if self.underway.unlaunched => {}
            Phase::Queued | Phase::Making => {}
            Phase::Reserved | Phase::Launching => effects.push(Effect::Dismiss),
            Phase::Starting | Phase::Running => effects.extend(self.stop_keeper()),
            Phase::Stopping if wish != StopChange::Same => effects.extend(self.stop_keeper()),
            Phase::Stopping | Phase::Reaped | Phase::Cleaned => {}
        }
        match wish {
            StopChange::First => self.record_durably(&mut effects),
            _ if called_off => self.record_durably(&mut effects),
            StopChange::Sooner => self.note(&mut effects),
            StopChange::Same => {}
        }
        effects
    }

    /// Whoever wants the end wants no other launch either, even if this one has ended by itself meanwhile, and
    /// the next waits for its pause to be over. Whether that is news.
    fn call_off_relaunch(&mut self, reason: &Reason) -> bool {
        let follows = match self.relaunch {
            RelaunchState::Undecided if self.is_live() => self.spec.repeats(),
            RelaunchState::Undecided if self.spec.agent.is_some() => self.awaits_verdict(),
            RelaunchState::Undecided => {
                let decision = restart::decide(&RestartFacts::of(self, Duration::ZERO));
                matches!(decision, RestartDecision::Relaunch { .. })
            }
            RelaunchState::Pending => true,
            RelaunchState::Launched | RelaunchState::CalledOff { .. } => false,
        };
        if follows {
            let by = match reason {
                Reason::Stopped { by } => by.clone(),
                Reason::Shutdown => "the shutdown of the daemon".to_owned(),
                Reason::ParentEnded => "the end of its parent".to_owned(),
                Reason::ClientGone => "the loss of its client".to_owned(),
                _ => "its end".to_owned(),
            };
            self.relaunch = RelaunchState::CalledOff { by };
        }
        follows
    }

    /// What follows this launch is known now.
    pub(crate) fn settle_relaunch(&mut self, state: RelaunchState) -> Vec<Effect> {
        self.relaunch = state;
        self.noted()
    }

    /// What became of it is known now.
    pub(crate) fn settle_verdict(&mut self, judged: Judged) -> Vec<Effect> {
        self.judged = Some(judged);
        self.noted()
    }

    /// Tells the keeper to end everything, if it can be told.
    pub(super) fn stop_keeper(&mut self) -> Vec<Effect> {
        if !self.hears() {
            return Vec::new();
        }
        self.phase = Phase::Stopping;
        let grace = match self.wanted {
            DesiredState::Stopped { grace } => grace,
            DesiredState::Running => self.spec.grace,
        };
        vec![Effect::Stop { grace }]
    }
}

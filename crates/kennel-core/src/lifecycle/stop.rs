//! Stops, which may arrive in any phase, any number of times.

use std::time::Duration;

use kennel_types::{Judged, Phase, Reason, RelaunchState};

use crate::effect::Effect;
use crate::event::StopIntent;
use crate::restart::{self, RestartFacts};
use crate::session::{DesiredState, ProbeState, Session};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopChange {
    First,
    /// It has a shorter grace than those before.
    Sooner,
    Same,
}

impl Session {
    /// Notes a stop. The first reason stays; the shortest grace counts.
    pub(super) fn want_stopped(&mut self, grace: Duration, reason: &Reason) -> StopChange {
        self.reason.get_or_insert_with(|| reason.clone());
        let change = match self.wanted {
            DesiredState::Running => StopChange::First,
            DesiredState::Stopped { grace: before } if grace < before => StopChange::Sooner,
            DesiredState::Stopped { .. } => return StopChange::Same,
        };
        self.wanted = DesiredState::Stopped { grace };
        change
    }

    pub(super) fn on_stop_asked(&mut self, stop: &StopIntent) -> Vec<Effect> {
        let mut effects = Vec::new();
        let called_off = self.call_off_relaunch(&stop.reason);
        if self.has_ended() {
            if called_off {
                self.record_durably(&mut effects);
            }
            return effects;
        }
        let change = self.want_stopped(stop.grace.unwrap_or(self.spec.grace), &stop.reason);
        match self.phase {
            Phase::Lost => {}
            _ if self.underway.probe == ProbeState::EndPenDue => self.end_pen(&mut effects),
            // A probe in progress applies the stop to what it finds.
            _ if !self.keeper_listens() => {}
            // The session ends when the stop is recorded.
            _ if self.underway.unlaunched => {}
            Phase::Queued | Phase::Making => {}
            Phase::Reserved | Phase::Launching => effects.push(Effect::Dismiss),
            Phase::Starting | Phase::Running => effects.extend(self.stop_keeper()),
            Phase::Stopping if change != StopChange::Same => effects.extend(self.stop_keeper()),
            Phase::Stopping | Phase::Reaped | Phase::Cleaned => {}
        }
        match change {
            StopChange::First => self.record_durably(&mut effects),
            _ if called_off => self.record_durably(&mut effects),
            StopChange::Sooner => self.note(&mut effects),
            StopChange::Same => {}
        }
        effects
    }

    /// Calls off any further launch: a stop also applies if this launch has ended by itself
    /// meanwhile and the next one waits for its pause. Returns whether this changed anything.
    fn call_off_relaunch(&mut self, reason: &Reason) -> bool {
        let follows = match self.relaunch {
            RelaunchState::Undecided if self.is_live() => self.spec.repeats(),
            RelaunchState::Undecided if self.spec.agent.is_some() => self.awaits_verdict(),
            RelaunchState::Undecided => {
                restart::decide(&RestartFacts::of(self, Duration::ZERO)).is_ok()
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

    /// Notes what follows this launch.
    pub(crate) fn settle_relaunch(&mut self, state: RelaunchState) -> Vec<Effect> {
        self.relaunch = state;
        self.noted()
    }

    pub(crate) fn settle_verdict(&mut self, judged: Judged) -> Vec<Effect> {
        self.judged = Some(judged);
        self.noted()
    }

    /// Orders the keeper to end everything, if it can receive commands.
    pub(super) fn stop_keeper(&mut self) -> Vec<Effect> {
        if !self.keeper_listens() {
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

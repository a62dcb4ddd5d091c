//! The life of an adopted process, which a user started in their own terminal.
//!
//! ```text
//!            row durable, process found        a stop that names it
//!  Reserved ─────────────────────────> Running ────────────────────> Stopping
//!     │                                   │                             │
//!     │                                   ├─── seen to have ended ──────┴──> Reaped ──> Cleaned
//!     └─── could not be adopted ──────────┴─── released ───────────────────────────────────┘
//! ```
//!
//! There is no keeper and no pen: the process existed before, and Kennel does not track its
//! children. Only a stop that names the session ends it; a shutdown and the end of a client or
//! parent do not. Kennel knows of its end by a handle on exactly that process, or by a probe for
//! its identity; a failed probe proves nothing and is repeated.

use kennel_types::{
    LaunchFailure, LaunchToken, Owed, Phase, Reason, SessionId, SessionSpec, StartedBy,
};

use crate::effect::Effect;
use crate::event::{Event, Probe, StopIntent};
use crate::session::{ProbeState, Session, Underway, Writing};

use super::stop::StopChange;

/// Why the exit status is unknown.
const RELEASED: &str = "Kennel stopped following it; it may still run";
const NOT_ADOPTED: &str = "Kennel could not adopt it; it may still run";
const REBOOTED: &str = "lost in the restart of the machine";

impl Session {
    /// Creates a session for a process that a user started. It is not on record yet.
    #[must_use]
    pub fn adopted(
        id: SessionId,
        spec: SessionSpec,
        token: LaunchToken,
        (identity, pid): (String, i32),
        owed: Vec<Owed>,
    ) -> Self {
        let mut session = Self::new(id, spec, token, owed);
        session.started_by = StartedBy::User;
        session.phase = Phase::Reserved;
        // It already runs.
        session.launch.granted = true;
        session.launch.identity = Some(identity);
        session.launch.pid = Some(pid);
        session.underway = Underway {
            writing: Writing::UnderWay { phase: Phase::Reserved, outdated: false },
            ..Underway::default()
        };
        session
    }

    pub(super) fn step_adopted(&mut self, event: &Event) -> Vec<Effect> {
        match event {
            Event::Recorded => self.on_adopted_recorded(),
            Event::RecordFailed { why } => self.on_adopted_record_failed(why),
            Event::Restored => self.on_adopted_restored(),
            Event::Probed(probe) => self.on_adopted_probed(probe),
            // The process has exited, but its parent has not waited for it yet.
            Event::Exited { exit } => self.on_exited(exit),
            Event::Gone { exit, reason } => self.on_gone(exit, reason.as_ref()),
            Event::StillAlive { survivors } => self.on_still_alive(survivors),
            Event::StopAsked(stop) => self.on_adopted_stop_asked(stop),
            Event::Forgotten { by } => self.on_released(by),
            Event::Reported(report) => self.on_reported(report),
            Event::CleanedUp { what } => self.on_cleaned_up(what),
            Event::CleanUpFailed { what, why } => self.on_clean_up_failed(what, why),
            Event::RetryDue => self.on_retry_due(),
            // Other events are about a launch, a keeper, a pen, a queue, a worktree or readiness.
            _ => Vec::new(),
        }
    }

    fn on_adopted_recorded(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        let Some(phase) = self.settle_record(&mut effects) else { return effects };
        self.underway.released |= phase >= Phase::Reaped;
        // Kennel creates nothing for it before it is on record.
        if !std::mem::replace(&mut self.launch.recorded, true) && !self.has_ended() {
            self.probe(&mut effects);
        }
        effects
    }

    fn on_adopted_record_failed(&mut self, why: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !matches!(self.underway.writing, Writing::UnderWay { .. }) {
            return effects;
        }
        self.underway.writing = Writing::Failed;
        if !self.launch.recorded && !self.has_ended() {
            self.reason = Some(Reason::Failed { code: LaunchFailure::Setup, why: why.to_owned() });
            let exit = self.unknown_exit(NOT_ADOPTED);
            self.note_exit(&exit);
            self.owed.clear();
            self.phase = Phase::Cleaned;
        }
        self.retry_later(&mut effects);
        effects
    }

    fn on_adopted_restored(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        // It was read from the register.
        self.launch.recorded = true;
        match self.phase {
            Phase::Cleaned => {}
            Phase::Reaped => self.clean_up(&mut effects),
            _ => self.probe(&mut effects),
        }
        effects
    }

    fn on_adopted_probed(&mut self, probe: &Probe) -> Vec<Effect> {
        match probe {
            Probe::Over { exit, reason } => return self.on_gone(exit, reason.as_ref()),
            Probe::Rebooted => {
                let exit = self.unknown_exit(REBOOTED);
                return self.reap(&exit, &Reason::Rebooted);
            }
            _ if self.has_ended() || self.underway.probe != ProbeState::Probing => {
                return Vec::new();
            }
            Probe::Running { .. } => {}
            Probe::Failed { why } if self.phase == Phase::Reserved => {
                let reason = Reason::Failed { code: LaunchFailure::Setup, why: why.clone() };
                return self.give_up(reason, NOT_ADOPTED);
            }
            // No other event would trigger another probe.
            _ => {
                let mut effects = Vec::new();
                self.underway.probe = ProbeState::ProbeDue;
                self.retry_later(&mut effects);
                return effects;
            }
        }
        self.underway.probe = ProbeState::Unneeded;
        let mut effects = Vec::new();
        if self.is_stop_wanted() {
            effects.extend(self.stop_keeper());
        } else {
            self.phase = Phase::Running;
        }
        self.note(&mut effects);
        effects
    }

    /// Only a stop that names the session counts.
    fn on_adopted_stop_asked(&mut self, stop: &StopIntent) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.has_ended() || !matches!(stop.reason, Reason::Stopped { .. }) {
            return effects;
        }
        let change = self.want_stopped(stop.grace.unwrap_or(self.spec.grace), &stop.reason);
        // A probe in progress applies the stop to what it finds.
        if change != StopChange::Same && matches!(self.phase, Phase::Running | Phase::Stopping) {
            effects.extend(self.stop_keeper());
        }
        match change {
            StopChange::First => self.record_durably(&mut effects),
            StopChange::Sooner => self.note(&mut effects),
            StopChange::Same => {}
        }
        effects
    }

    /// Stops following the process, unless a probe is in progress, which may be about to create its
    /// files.
    fn on_released(&mut self, by: &str) -> Vec<Effect> {
        let probing = self.phase == Phase::Reserved || self.underway.probe == ProbeState::Probing;
        if self.has_ended() || probing {
            return Vec::new();
        }
        self.give_up(Reason::Forgotten { by: by.to_owned() }, RELEASED)
    }
}

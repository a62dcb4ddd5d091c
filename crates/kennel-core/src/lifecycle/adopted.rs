//! The life of a session that a user started in their own terminal: it is followed, and left alone.
//!
//! ```text
//!            row durable, process found        a stop that names it
//!  Reserved ─────────────────────────> Running ────────────────────> Stopping
//!     │                                   │                             │
//!     │                                   ├─── seen to have ended ──────┴──> Reaped ──> Cleaned
//!     └─── could not be taken in ─────────┴─── let go ─────────────────────────────────────┘
//! ```
//!
//! There is no keeper and no pen: the process was there before, and what it starts is not held. Only a person who names
//! it ends it; the end of everything, of a client or of a parent does not. That it has ended is known by a handle on
//! that very process, or by a look for its identity; a look that fails says nothing, and is repeated.

use kennel_types::LaunchFailure;
use kennel_types::{LaunchToken, Owed, Phase, Reason, SessionId, SessionSpec, StartedBy};

use crate::effect::Effect;
use crate::event::{Event, Probe, StopIntent};
use crate::session::{ProbeState, Session, Underway, Writing};

use super::stop::StopChange;

/// Why nobody saw how it ended.
const LET_GO: &str = "it was let go, and goes on by itself";
const NOT_TAKEN_IN: &str = "it was not taken in, and goes on by itself";
const REBOOTED: &str = "lost to the restart of the machine";

impl Session {
    /// A session for a process that a user started, and that is not on record yet.
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
        // It runs, whatever we do.
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
            // Whoever started it has yet to take note of its end.
            Event::Exited { exit } => self.on_exited(exit),
            Event::Gone { exit, reason } => self.on_gone(exit, reason.as_ref()),
            Event::StillAlive { survivors } => self.on_still_alive(survivors),
            Event::StopAsked(wish) => self.on_adopted_stop_asked(wish),
            Event::Forgotten { by } => self.on_let_go(by),
            Event::Reported(report) => self.on_reported(report),
            Event::CleanedUp { what } => self.on_cleaned_up(what),
            Event::CleanUpFailed { what, why } => self.on_clean_up_failed(what, why),
            Event::RetryDue => self.on_retry_due(),
            // These are about what such a session has not: a launch, a keeper, a pen, a turn, a worktree, a sign.
            Event::KeeperReady
            | Event::KeeperNotStarted { .. }
            | Event::TurnCame
            | Event::Made { .. }
            | Event::MakeFailed { .. }
            | Event::Born { .. }
            | Event::Opened
            | Event::LaunchFailed { .. }
            | Event::BecameReady { .. }
            | Event::ReadyOverdue { .. }
            | Event::KeeperLost
            | Event::PenEnded(_)
            | Event::Owes { .. }
            | Event::Kept { .. } => Vec::new(),
        }
    }

    fn on_adopted_recorded(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        let Some(phase) = self.settle_record(&mut effects) else { return effects };
        self.underway.released |= phase >= Phase::Reaped;
        // Nothing is made for it before it is on record.
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
            let untold = self.exit_untold(NOT_TAKEN_IN);
            self.learn(&untold);
            self.owed.clear();
            self.phase = Phase::Cleaned;
        }
        self.retry_later(&mut effects);
        effects
    }

    fn on_adopted_restored(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        // It was read from there.
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
                let exit = self.exit_untold(REBOOTED);
                return self.reap(&exit, &Reason::Rebooted);
            }
            _ if self.has_ended() || self.underway.look != ProbeState::Probing => {
                return Vec::new();
            }
            Probe::Running { .. } => {}
            Probe::Failed { why } if self.phase == Phase::Reserved => {
                let reason = Reason::Failed { code: LaunchFailure::Setup, why: why.clone() };
                return self.give_up(reason, NOT_TAKEN_IN);
            }
            // Nobody else would look for it.
            _ => {
                let mut effects = Vec::new();
                self.underway.look = ProbeState::ProbeDue;
                self.retry_later(&mut effects);
                return effects;
            }
        }
        self.underway.look = ProbeState::Unneeded;
        let mut effects = Vec::new();
        if self.is_stop_wanted() {
            effects.extend(self.stop_keeper());
        } else {
            self.phase = Phase::Running;
        }
        self.note(&mut effects);
        effects
    }

    /// Only somebody who names it ends it.
    fn on_adopted_stop_asked(&mut self, wish: &StopIntent) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.has_ended() || !matches!(wish.reason, Reason::Stopped { .. }) {
            return effects;
        }
        let wish = self.want_stopped(wish.grace.unwrap_or(self.spec.grace), &wish.reason);
        // Whoever looks for it now honours the wish with what is found.
        if wish != StopChange::Same && matches!(self.phase, Phase::Running | Phase::Stopping) {
            effects.extend(self.stop_keeper());
        }
        match wish {
            StopChange::First => self.record_durably(&mut effects),
            StopChange::Sooner => self.note(&mut effects),
            StopChange::Same => {}
        }
        effects
    }

    /// Not while somebody looks for it, who may be about to make its files.
    fn on_let_go(&mut self, by: &str) -> Vec<Effect> {
        let looked_for = self.phase == Phase::Reserved || self.underway.look == ProbeState::Probing;
        if self.has_ended() || looked_for {
            return Vec::new();
        }
        self.give_up(Reason::Forgotten { by: by.to_owned() }, LET_GO)
    }
}

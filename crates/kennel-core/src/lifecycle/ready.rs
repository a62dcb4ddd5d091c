//! Readiness, and the agent's reports.
//!
//! A sign of readiness counts only while the session waits for it. After the timeout, a stop or the
//! end of the agent it is late and changes nothing.

use kennel_types::{AgentReport, Phase, Readiness, ReadyState, Reason};

use crate::effect::Effect;
use crate::event::StopIntent;
use crate::session::Session;

impl Session {
    /// Starts to watch for readiness once the program runs.
    pub(super) fn await_ready(&mut self, effects: &mut Vec<Effect>) {
        let due = self.may_become_ready() && self.phase == Phase::Running;
        if due && !std::mem::replace(&mut self.underway.awaiting, true) {
            effects.push(Effect::AwaitReady);
        }
    }

    /// Stops watching if the session can't become ready any more.
    pub(super) fn stop_awaiting(&mut self, effects: &mut Vec<Effect>) {
        if self.underway.awaiting && !self.may_become_ready() {
            self.underway.awaiting = false;
            effects.push(Effect::StopAwaiting);
        }
    }

    fn may_become_ready(&self) -> bool {
        self.ready == ReadyState::Waiting && self.accepts_reports() && self.exit.is_none()
    }

    pub(super) fn on_became_ready(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.may_become_ready() {
            self.ready = ReadyState::Ready;
            self.note(&mut effects);
        }
        effects
    }

    pub(super) fn on_ready_overdue(&mut self, saw: Option<&String>) -> Vec<Effect> {
        let Some(after) = self.spec.ready_timeout else { return Vec::new() };
        if !self.may_become_ready() {
            return Vec::new();
        }
        self.ready = ReadyState::Missed;
        let reason = Reason::NotReady { after, saw: saw.cloned() };
        self.on_stop_asked(&StopIntent { grace: None, reason })
    }

    /// The requested sign decides: if it is a line or a port, the agent's own report does not make
    /// the session ready.
    pub(super) fn on_reported(&mut self, report: &AgentReport) -> Vec<Effect> {
        if !self.accepts_reports() {
            return Vec::new();
        }
        match report {
            AgentReport::Ready if self.spec.ready == Readiness::Report => self.on_became_ready(),
            AgentReport::Ready => Vec::new(),
            report if self.reported.update(report) => self.noted(),
            _ => Vec::new(),
        }
    }
}

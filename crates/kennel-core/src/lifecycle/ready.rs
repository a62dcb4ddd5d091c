//! Whether it is up, and what its agent tells.
//!
//! A sign counts only while it is waited for: once the time is over, a stop is wanted or the agent has ended, it
//! is late, and changes nothing.

use kennel_types::{AgentReport, Phase, Readiness, ReadyState, Reason};

use crate::effect::Effect;
use crate::event::StopIntent;
use crate::session::Session;

impl Session {
    /// The program runs: from here on somebody looks.
    pub(super) fn await_ready(&mut self, effects: &mut Vec<Effect>) {
        let due = self.may_become_ready() && self.phase == Phase::Running;
        if due && !std::mem::replace(&mut self.underway.awaiting, true) {
            effects.push(Effect::AwaitReady);
        }
    }

    /// If nothing can come of it any more.
    pub(super) fn stop_awaiting(&mut self, effects: &mut Vec<Effect>) {
        if self.underway.awaiting && !self.may_become_ready() {
            self.underway.awaiting = false;
            effects.push(Effect::StopAwaiting);
        }
    }

    fn may_become_ready(&self) -> bool {
        self.ready == ReadyState::Waiting && self.is_believed() && self.exit.is_none()
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

    /// What was asked for decides what makes it ready: if that is a line or a port, the agent's word does not.
    pub(super) fn on_reported(&mut self, report: &AgentReport) -> Vec<Effect> {
        if !self.is_believed() {
            return Vec::new();
        }
        match report {
            AgentReport::Ready if self.spec.ready == Readiness::Report => self.on_became_ready(),
            AgentReport::Ready => Vec::new(),
            told if self.reported.take(told) => self.noted(),
            _ => Vec::new(),
        }
    }
}

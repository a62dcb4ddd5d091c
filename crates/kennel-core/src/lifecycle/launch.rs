//! From a recorded row to a running program.

use kennel_types::{Exit, LaunchFailure, Phase, Reason};

use crate::effect::Effect;
use crate::session::Session;

impl Session {
    pub(super) fn on_keeper_ready(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.launch.keeper_ready = true;
        if self.is_stop_wanted() && self.phase < Phase::Starting && self.keeper_listens() {
            // It was sent before, but then no keeper was there to receive it.
            effects.push(Effect::Dismiss);
        }
        self.go_if_due(&mut effects);
        effects
    }

    /// Sends the order to launch once both the row and the keeper exist. A launch of an earlier
    /// daemon is not continued: during its probe no order is sent, and the probe ends it.
    pub(super) fn go_if_due(&mut self, effects: &mut Vec<Effect>) {
        let ready = self.launch.recorded && self.launch.keeper_ready && self.keeper_listens();
        if self.phase == Phase::Reserved && ready && !self.is_stop_wanted() {
            self.phase = Phase::Launching;
            effects.push(Effect::Go);
        }
    }

    pub(super) fn on_keeper_not_started(&mut self, why: &str) -> Vec<Effect> {
        if self.phase != Phase::Reserved || self.launch.keeper_ready {
            return Vec::new();
        }
        self.reap_unrun(LaunchFailure::Setup, why)
    }

    pub(super) fn on_born(&mut self, identity: &str, pid: i32, pen: Option<&str>) -> Vec<Effect> {
        if self.launch.granted || self.has_ended() {
            return Vec::new();
        }
        self.note_process(identity, pid, pen);
        let mut effects = self.noted();
        if !self.keeper_listens() {
            return effects;
        }
        if self.launch.recorded && !self.is_stop_wanted() && self.phase <= Phase::Launching {
            self.phase = Phase::Starting;
            self.launch.granted = true;
            effects.push(Effect::Grant);
        } else {
            effects.push(Effect::Dismiss);
        }
        effects
    }

    pub(super) fn note_process(&mut self, identity: &str, pid: i32, pen: Option<&str>) {
        self.launch.identity = Some(identity.to_owned());
        self.launch.pid = Some(pid);
        self.launch.pen = pen.map(str::to_owned);
    }

    pub(super) fn on_opened(&mut self) -> Vec<Effect> {
        if self.has_ended() {
            return Vec::new();
        }
        // If an earlier daemon granted it, this is known only now.
        self.launch.granted = true;
        if self.is_stop_wanted() {
            // Even if one is in progress: it may have been a dismissal, which ends no program.
            return self.stop_keeper();
        }
        if self.phase >= Phase::Running {
            return Vec::new();
        }
        self.phase = Phase::Running;
        let mut effects = self.noted();
        self.await_ready(&mut effects);
        effects
    }

    pub(super) fn reap_unrun(&mut self, code: LaunchFailure, why: &str) -> Vec<Effect> {
        self.reap(&Exit::NeverRan, &Reason::Failed { code, why: why.to_owned() })
    }
}

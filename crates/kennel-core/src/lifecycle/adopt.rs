//! How a new daemon takes over the launches of an earlier one.

use kennel_types::{Exit, LaunchFailure, Phase, Reason};

use crate::effect::Effect;
use crate::event::Probe;
use crate::session::{ProbeState, Session};

/// After this many failed probes in a row, a stop ends the pen without waiting for another one.
const MAX_FAILED_PROBES: u8 = 3;

impl Session {
    pub(super) fn on_restored(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        match self.phase {
            Phase::Cleaned => {}
            Phase::Reaped => self.clean_up(&mut effects),
            Phase::Queued | Phase::Making => self.restore_unlaunched(&mut effects),
            _ => {
                // It was read from the register.
                self.launch.recorded = true;
                self.launch.keeper_ready = false;
                // What follows a row is written without a sync and may be lost, a grant too. Only a
                // recorded stop proves that no grant followed.
                self.launch.granted |= !self.is_stop_wanted();
                self.probe(&mut effects);
            }
        }
        effects
    }

    pub(super) fn probe(&mut self, effects: &mut Vec<Effect>) {
        self.underway.probe = ProbeState::Probing;
        effects.push(Effect::Probe);
    }

    pub(super) fn on_probed(&mut self, probe: &Probe) -> Vec<Effect> {
        let stale = match self.underway.probe {
            ProbeState::Probing => false,
            ProbeState::ProbingStale => true,
            _ => return self.on_late_probe(probe),
        };
        self.underway.probe = ProbeState::Unneeded;
        let failed_before = std::mem::take(&mut self.underway.failed_probes);
        let mut effects = Vec::new();
        match probe {
            Probe::Over { exit, reason } => return self.on_gone(exit, reason.as_ref()),
            Probe::Rebooted => {
                let exit = self.unknown_exit("lost in the restart of the machine");
                return self.reap(&exit, &Reason::Rebooted);
            }
            Probe::Failed { .. } => {
                self.probe_failed(failed_before.saturating_add(1), &mut effects)
            }
            _ if stale => self.probe(&mut effects),
            Probe::Waiting => self.call_off(&mut effects),
            Probe::Gated { identity, pid, pen } => {
                self.note_process(identity, *pid, pen.as_deref());
                self.call_off(&mut effects);
            }
            Probe::Running { identity, pid, pen, ending, exit } => {
                self.note_process(identity, *pid, pen.as_deref());
                self.adopt(*ending, exit.as_ref(), &mut effects);
            }
            Probe::NoKeeper | Probe::Silent => self.do_without_keeper(&mut effects),
        }
        effects
    }

    /// Handles an answer to no probe in progress. It is out of date, except that an end is final
    /// and a dead keeper stays dead.
    fn on_late_probe(&mut self, probe: &Probe) -> Vec<Effect> {
        match probe {
            Probe::Over { exit, reason } => self.on_gone(exit, reason.as_ref()),
            Probe::NoKeeper => self.on_keeper_lost(),
            _ => Vec::new(),
        }
    }

    /// Retries a failed probe, which proves nothing, unless a stop has waited for too many of them.
    fn probe_failed(&mut self, in_a_row: u8, effects: &mut Vec<Effect>) {
        if self.is_stop_wanted() && in_a_row >= MAX_FAILED_PROBES && self.phase != Phase::Lost {
            self.do_without_keeper(effects);
        } else {
            self.underway.failed_probes = in_a_row;
            self.underway.probe = ProbeState::ProbeDue;
            self.retry_later(effects);
        }
    }

    /// Calls off a launch behind a closed gate: its client is gone with the earlier daemon. If it
    /// may have been granted, the order to open may still arrive, so it gets a stop, which also
    /// ends the program.
    fn call_off(&mut self, effects: &mut Vec<Effect>) {
        let why = "the daemon was restarted during its launch".to_owned();
        self.want_stopped(self.spec.grace, &Reason::Failed { code: LaunchFailure::Internal, why });
        if self.launch.granted {
            effects.extend(self.stop_keeper());
        } else {
            self.phase = if self.phase == Phase::Lost { Phase::Stopping } else { self.phase };
            effects.push(Effect::Dismiss);
        }
        self.note(effects);
    }

    fn adopt(&mut self, ending: bool, exit: Option<&Exit>, effects: &mut Vec<Effect>) {
        self.launch.granted = true;
        if let Some(exit) = exit {
            effects.extend(self.on_exited(exit));
        }
        if ending || self.is_stop_wanted() || self.phase >= Phase::Stopping {
            effects.extend(self.stop_keeper());
        } else {
            self.phase = Phase::Running;
            self.await_ready(effects);
        }
        self.note(effects);
    }
}

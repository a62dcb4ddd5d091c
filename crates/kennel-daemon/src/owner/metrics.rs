//! Counting the events of sessions.

use std::time::Instant;

use kennel_core::{Effect, Event};
use kennel_types::{Phase, SessionId};

use super::Owner;
use super::launches::Before;

impl Owner {
    /// Counts an event that has effects.
    pub(super) fn count_event(&self, event: &Event, effects: &[(SessionId, Effect)]) {
        if effects.is_empty() {
            return; // it changed nothing
        }
        match event {
            Event::KeeperLost => drop(self.metrics.keepers_lost.inc()),
            Event::CleanUpFailed { .. } => drop(self.metrics.cleanups_failed.inc()),
            _ => {}
        }
    }

    /// Counts what a step has changed.
    pub(super) fn count_step(&mut self, id: &SessionId, before: Before, event: &Event) {
        let Some(session) = self.world.get(id) else { return };
        let now = Before::from(session);
        if now == before {
            return;
        }
        let Some(runtime) = self.launches.get_mut(id) else { return };
        if now.stop_wanted && !before.stop_wanted {
            runtime.stop_asked = Some(Instant::now());
        }
        if before.phase == Phase::Queued && now.phase != Phase::Queued {
            runtime.accepted = Some(Instant::now()); // what it waited for was its turn
        }
        if now.phase == Phase::Running
            && matches!(event, Event::Opened)
            && let Some(accepted) = runtime.accepted.take()
        {
            self.metrics.launch.observe(accepted.elapsed());
        }
        if session.has_ended() && before.phase < Phase::Reaped {
            self.metrics.ended(session.reason.as_ref());
            if !matches!(event, Event::Forgotten { .. }) {
                self.metrics.reaped.inc();
            }
            if let Some(asked) = runtime.stop_asked.take() {
                self.metrics.stop.observe(asked.elapsed());
            }
        }
    }
}

//! The owner's part in admission: idempotency keys, and the sessions in the queue whose turn it is.

use std::time::Duration;

use kennel_core::{Event, Keyed, Session};
use kennel_keeper::fault::point;
use kennel_types::SessionSpec;

use super::Owner;
use crate::error::ApiError;
use crate::launch::admission::LaunchSlot;
use crate::launch::request::LaunchRequest;
use crate::os::clock;
use crate::owner::launches::Runtime;
use crate::prompt::settle::busy;

/// How often the queue is checked while only the machine's resources block it.
const CHECK_AGAIN: Duration = Duration::from_secs(1);

impl Owner {
    /// Returns what the key of a request stands for.
    pub(super) fn keyed(&self, spec: &SessionSpec) -> Keyed {
        let now = clock::now_ms();
        self.admission.keyed(&self.world, spec, |session| self.ended_ago(session, now))
    }

    /// Whether a session that is over still answers for its key.
    pub(super) fn holds_key(&self, session: &Session) -> bool {
        self.admission.holds_key(session, self.ended_ago(session, clock::now_ms()))
    }

    fn ended_ago(&self, session: &Session, now_ms: u64) -> Option<Duration> {
        let ended = self.launches.get(&session.id)?.times.ended_ms?;
        Some(Duration::from_millis(now_ms.saturating_sub(ended)))
    }

    /// Decides where a launch begins; a launch for a busy member is queued or refused.
    pub(super) fn slot_for(&mut self, launch: &LaunchRequest) -> Result<LaunchSlot, ApiError> {
        let since = |session: &Session| self.launches.get(&session.id).map_or(0, Runtime::since_ms);
        let agent = launch.spec.agent.as_deref();
        let busy = agent.and_then(|agent| busy(&self.world, agent, since));
        let slot = self.slot_for_relaunch(launch)?;
        match busy {
            None => Ok(slot),
            Some(_) if launch.queue => Ok(LaunchSlot::Queued),
            Some(busy) => Err(busy),
        }
    }

    /// Decides where a further launch of a session begins: a retry has its member already.
    pub(super) fn slot_for_relaunch(
        &mut self,
        launch: &LaunchRequest,
    ) -> Result<LaunchSlot, ApiError> {
        if self.shutdown.is_under_way() {
            return Err(ApiError::shutting_down());
        }
        if !self.keepers.has_yard() {
            return Err(ApiError::busy("the yard is gone, a new one is being started"));
        }
        self.admission.slot_for(&self.world, launch)
    }

    /// A session has ended or started: schedules a check of the queue if a session waits in it.
    pub(super) fn check_queue_soon(&mut self) {
        if self.admission.request_check() {
            self.bus.call(Self::check_queue);
        }
    }

    fn check_queue(&mut self) {
        let waits = self.admission.begin_check();
        // During a shutdown the queue is left to the next daemon.
        if !waits || self.shutdown.is_under_way() || !self.keepers.has_yard() {
            return;
        }
        for id in self.admission.next_in_queue(&self.world) {
            let Some(session) = self.world.get(&id) else { continue };
            if self.is_awaited(session) {
                continue; // it keeps its position
            }
            let wants_terminal = session.spec.terminal.is_some();
            if self.admission.check_headroom(wants_terminal).is_err() {
                if self.admission.start_timer() {
                    self.bus.call_later(CHECK_AGAIN, Self::queue_timer);
                }
                return;
            }
            point("daemon.queue.turn_came");
            match self.resettle_prompt(&id) {
                Ok(()) => self.apply(&id, &Event::TurnCame),
                Err(refused) => self.refuse_queued(&id, &refused),
            }
        }
    }

    fn queue_timer(&mut self) {
        self.admission.timer_fired();
        self.check_queue();
    }
}

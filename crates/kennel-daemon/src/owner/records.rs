//! Recording sessions, and trying again what could not be recorded.

use std::time::Duration;

use kennel_core::Event;
use kennel_keeper::fault::point;
use kennel_register::{Durability, NewEvent, SessionRecord, WriteError};
use kennel_types::SessionId;

use super::Owner;

/// The first pause before failed records are tried again; it doubles each time …
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// … up to this.
const LAST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct SaveRetry {
    pause: Option<Duration>,
}

impl SaveRetry {
    /// A record has failed: returns the pause to start, unless one is running.
    fn begin(&mut self) -> Option<Duration> {
        if self.pause.is_some() {
            return None;
        }
        self.pause = Some(FIRST_PAUSE);
        self.pause
    }

    /// A pause is over. If something was tried again, returns the next pause to start.
    fn next(&mut self, tried: bool) -> Option<Duration> {
        let pause = self.pause.take().unwrap_or(FIRST_PAUSE);
        self.pause = tried.then(|| (pause * 2).min(LAST_PAUSE));
        self.pause
    }
}

impl Owner {
    /// Records a session as it is now, with the events that led to it.
    pub(super) fn save(&mut self, id: &SessionId, events: Vec<NewEvent>, durable: bool) {
        let (Some(session), Some(runtime)) = (self.world.get(id), self.launches.get_mut(id)) else {
            return;
        };
        let mut all_events = std::mem::take(&mut runtime.unsaved_events);
        all_events.extend(events);
        let ended = session.has_ended();
        if durable {
            point(if ended { "daemon.record.outcome" } else { "daemon.record.intent" });
        }
        let stored = SessionRecord { session: session.clone(), times: runtime.times };
        let durability = if durable { Durability::Durable } else { Durability::Soon };
        let (bus, session) = (self.bus.clone(), id.clone());
        // Most records that need not be durable are soon replaced: that they are written is not
        // reported.
        let is_news = durable || runtime.unsaved;
        self.register.save_then(stored, all_events, durability, move |result| {
            if durable {
                point(if ended {
                    "daemon.record.outcome_saved"
                } else {
                    "daemon.record.intent_saved"
                });
            }
            if is_news || result.is_err() {
                bus.call(move |owner| owner.saved(&session, durable, result));
            }
        });
    }

    fn saved(&mut self, id: &SessionId, durable: bool, result: Result<(), WriteError>) {
        if let Err(why) = &result {
            tracing::error!(session = %id, %why, "can't record a session");
        }
        self.launches.update(id, |runtime| runtime.unsaved = result.is_err());
        match result {
            Ok(()) if durable => self.apply(id, &Event::Recorded),
            Ok(()) => {}
            Err(why) if durable => {
                self.apply(id, &Event::RecordFailed { why: why.to_string() });
            }
            // The core does not try again.
            Err(_) => self.save_again_later(),
        }
    }

    pub(super) fn save_again_later(&mut self) {
        if let Some(pause) = self.save_retry.begin() {
            self.bus.call_later(pause, Self::save_again);
        }
    }

    fn save_again(&mut self) {
        let ids = self.launches.unsaved();
        let members = self.save_members_again();
        for id in &ids {
            self.save(id, Vec::new(), false);
        }
        if let Some(pause) = self.save_retry.next(members || !ids.is_empty()) {
            self.bus.call_later(pause, Self::save_again);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit_and_end_when_nothing_is_left() {
        let mut retry = SaveRetry::default();
        assert_eq!(retry.begin(), Some(FIRST_PAUSE));
        assert_eq!(retry.begin(), None, "a pause is running");
        assert_eq!(retry.next(true), Some(FIRST_PAUSE * 2));
        let last = (0..10).filter_map(|_| retry.next(true)).last();
        assert_eq!(last, Some(LAST_PAUSE));
        assert_eq!(retry.next(false), None);
        assert_eq!(retry.begin(), Some(FIRST_PAUSE));
    }
}

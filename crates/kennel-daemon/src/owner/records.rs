//! Putting sessions on record.

use std::time::Duration;

use kennel_core::Event;
use kennel_keeper::fault::point;
use kennel_types::SessionId;

use super::Owner;
use crate::message::Message;
use kennel_register::{Durability, NewEvent, SessionRecord, WriteError};

/// The first pause before failed records are tried again; doubled each time …
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// … up to this.
const LAST_PAUSE: Duration = Duration::from_secs(30);

impl Owner {
    /// Records a session as it is now, with what happened to it.
    pub(super) fn save(&mut self, id: &SessionId, events: Vec<NewEvent>, durable: bool) {
        let (Some(session), Some(runtime)) = (self.world.get(id), self.runtimes.get(id)) else {
            return;
        };
        let ended = session.has_ended();
        if durable {
            point(if ended { "daemon.record.outcome" } else { "daemon.record.intent" });
        }
        let stored = SessionRecord { session: session.clone(), times: runtime.times };
        let durability = if durable { Durability::Durable } else { Durability::Soon };
        let (bus, session) = (self.bus.clone(), id.clone());
        // Most of what need not be durable is soon outdated: that it is on record is no news.
        let is_news = durable || runtime.unsaved;
        self.register.save_then(stored, events, durability, move |result| {
            if durable {
                point(if ended {
                    "daemon.record.outcome_saved"
                } else {
                    "daemon.record.intent_saved"
                });
            }
            if is_news || result.is_err() {
                bus.send(Message::Saved { session, durable, result }).ok();
            }
        });
    }

    /// What became of a record.
    pub(super) fn saved(&mut self, id: &SessionId, durable: bool, result: Result<(), WriteError>) {
        if let Err(why) = &result {
            tracing::error!(session = %id, %why, "a session is not on record as it is");
        }
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.unsaved = result.is_err();
        }
        match result {
            Ok(()) if durable => self.happen(id, &Event::Recorded),
            Ok(()) => {}
            Err(why) if durable => {
                self.happen(id, &Event::RecordFailed { why: why.to_string() });
            }
            // Nobody else tries again.
            Err(_) => self.save_again_later(),
        }
    }

    pub(super) fn save_again_later(&mut self) {
        if self.saving_again.is_some() {
            return;
        }
        self.arm_save_again(FIRST_PAUSE);
    }

    fn arm_save_again(&mut self, pause: Duration) {
        self.saving_again = Some(pause);
        let bus = self.bus.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            bus.send(Message::SaveAgain).ok();
        });
    }

    /// Tries again with all whose record failed; those with a durable one under way get theirs anyway.
    pub(super) fn save_again(&mut self) {
        let unsaved = self.runtimes.iter().filter(|(_, runtime)| runtime.unsaved);
        let ids: Vec<SessionId> = unsaved.map(|(id, _)| id.clone()).collect();
        let pause = self.saving_again.take().unwrap_or(FIRST_PAUSE);
        let members = self.save_members_again();
        if ids.is_empty() && !members {
            return;
        }
        for id in &ids {
            self.save(id, Vec::new(), false);
        }
        self.arm_save_again((pause * 2).min(LAST_PAUSE));
    }
}

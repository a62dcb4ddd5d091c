//! The queue: which sessions wait to start, and in which order.

use std::collections::{BTreeMap, BTreeSet};

use kennel_types::{Phase, SessionId};

use crate::admission::{self, Caps, SessionCounts};
use crate::session::Session;

use super::World;

impl World {
    /// Returns the queued sessions, the next one first.
    fn queue(&self) -> Vec<&Session> {
        let waits =
            |session: &&Session| session.phase == Phase::Queued && !session.is_stop_wanted();
        let mut queue: Vec<_> = self.sessions.values().filter(waits).collect();
        queue.sort_by_key(|session| session.ticket);
        queue
    }

    /// Returns a ticket behind all queued sessions.
    pub(super) fn next_ticket(&self) -> u64 {
        let queued = self.sessions.values().filter(|session| session.phase == Phase::Queued);
        queued.map(|session| session.ticket).max().unwrap_or(0).saturating_add(1)
    }

    /// Returns the position of a session in the queue, from 1. `None` if it is not queued.
    #[must_use]
    pub fn queue_position(&self, id: &SessionId) -> Option<usize> {
        self.queue().iter().position(|session| session.id == *id).map(|ahead| ahead + 1)
    }

    #[must_use]
    pub fn queue_positions(&self) -> BTreeMap<&SessionId, usize> {
        self.queue().into_iter().map(|session| &session.id).zip(1..).collect()
    }

    /// Returns the sessions that may start now: each gets [`crate::Event::TurnCame`]. Sessions that
    /// wait for the same limit keep their order; one that waits for a limit on its name does not
    /// hold up others.
    #[must_use]
    pub fn next_in_queue(&self, caps: &Caps) -> Vec<SessionId> {
        if self.draining { Vec::new() } else { self.walk_queue(caps).1 }
    }

    /// Counts the sessions for [`admission::decide`]. Queued sessions that could start now count as
    /// started, so that no new session overtakes them.
    #[must_use]
    pub fn session_counts(&self, caps: &Caps) -> SessionCounts {
        self.walk_queue(caps).0
    }

    fn walk_queue(&self, caps: &Caps) -> (SessionCounts, Vec<SessionId>) {
        let mut counts = SessionCounts::empty(caps);
        self.sessions.values().for_each(|session| counts.count(caps, session));
        let mut next = Vec::new();
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        for session in self.queue() {
            // A session that waits for a member does not hold up others.
            if let Some(member) = session.spec.agent.as_ref().and_then(|it| it.member.as_deref())
                && (self.busy_with(member).is_some() || !taken.insert(member))
            {
                continue;
            }
            let name = session.spec.name.as_deref();
            if admission::exceeded_limit(caps, &counts, name).is_none() {
                counts.add(caps, name);
                next.push(session.id.clone());
            } else {
                counts.wait();
            }
        }
        (counts, next)
    }
}

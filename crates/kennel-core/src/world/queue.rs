//! The line: who waits to start, in which order, and whose turn it is.

use std::collections::{BTreeMap, BTreeSet};

use kennel_types::{Phase, SessionId};

use crate::admission::{self, Caps, SessionCounts};
use crate::session::Session;

use super::World;

impl World {
    /// Those who wait, the next first.
    fn queue(&self) -> Vec<&Session> {
        let waits =
            |session: &&Session| session.phase == Phase::Queued && !session.is_stop_wanted();
        let mut line: Vec<_> = self.sessions.values().filter(waits).collect();
        line.sort_by_key(|session| session.ticket);
        line
    }

    /// Behind all who wait.
    pub(super) fn next_ticket(&self) -> u64 {
        let queued = self.sessions.values().filter(|session| session.phase == Phase::Queued);
        queued.map(|session| session.ticket).max().unwrap_or(0).saturating_add(1)
    }

    /// Where a session stands in line: 1 is next. None if it is not in line.
    #[must_use]
    pub fn queue_position(&self, id: &SessionId) -> Option<usize> {
        self.queue().iter().position(|session| session.id == *id).map(|ahead| ahead + 1)
    }

    /// The same for all who are in line.
    #[must_use]
    pub fn queue_positions(&self) -> BTreeMap<&SessionId, usize> {
        self.queue().into_iter().map(|session| &session.id).zip(1..).collect()
    }

    /// Whose turn it is now: each of them is told [`crate::Event::TurnCame`]. The order of the line holds among
    /// those that the same cap holds back; whoever waits for a name's cap does not hold up others.
    #[must_use]
    pub fn next_in_queue(&self, caps: &Caps) -> Vec<SessionId> {
        if self.draining { Vec::new() } else { self.walk_queue(caps).1 }
    }

    /// How many there are, for [`admission::decide`]. Those in line who could start now count as if they had:
    /// no newcomer gets past them.
    #[must_use]
    pub fn census(&self, caps: &Caps) -> SessionCounts {
        self.walk_queue(caps).0
    }

    fn walk_queue(&self, caps: &Caps) -> (SessionCounts, Vec<SessionId>) {
        let mut census = SessionCounts::empty(caps);
        self.sessions.values().for_each(|session| census.count(caps, session));
        let mut next = Vec::new();
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        for session in self.queue() {
            // Whoever waits for a member holds up nobody who does not.
            if let Some(member) = session.spec.agent.as_ref().and_then(|it| it.member.as_deref())
                && (self.busy_with(member).is_some() || !taken.insert(member))
            {
                continue;
            }
            let name = session.spec.name.as_deref();
            if admission::over(caps, &census, name).is_none() {
                census.add(caps, name);
                next.push(session.id.clone());
            } else {
                census.wait();
            }
        }
        (census, next)
    }
}

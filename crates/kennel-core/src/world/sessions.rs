//! The sessions themselves. Nobody changes one without its revision: so whoever has made something of a session can tell
//! whether that still holds.

use std::collections::BTreeMap;
use std::ops::Deref;

use kennel_types::SessionId;

use crate::session::Session;

/// What a session gets with each change: none had it before, and none will have it again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(u64);

/// See the module. Read as the map that it is; what changes it is here.
#[derive(Debug, Clone, Default)]
pub(super) struct Sessions {
    by_id: BTreeMap<SessionId, Session>,
    revisions: BTreeMap<SessionId, Revision>,
    latest: Revision,
}

impl Sessions {
    pub(super) fn insert(&mut self, session: Session) {
        self.revise(&session.id);
        self.by_id.insert(session.id.clone(), session);
    }

    /// The session, to be changed.
    pub(super) fn get_mut(&mut self, id: &SessionId) -> Option<&mut Session> {
        if self.by_id.contains_key(id) {
            self.revise(id);
        }
        self.by_id.get_mut(id)
    }

    pub(super) fn remove(&mut self, id: &SessionId) -> Option<Session> {
        self.revisions.remove(id);
        self.by_id.remove(id)
    }

    pub(super) fn revision(&self, id: &SessionId) -> Option<Revision> {
        self.revisions.get(id).copied()
    }

    fn revise(&mut self, id: &SessionId) {
        self.latest.0 += 1;
        match self.revisions.get_mut(id) {
            Some(revision) => *revision = self.latest,
            None => drop(self.revisions.insert(id.clone(), self.latest)),
        }
    }
}

impl Deref for Sessions {
    type Target = BTreeMap<SessionId, Session>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}

/// How often one was changed is no part of what it is.
impl PartialEq for Sessions {
    fn eq(&self, other: &Self) -> bool {
        self.by_id == other.by_id
    }
}

impl Eq for Sessions {}

#[cfg(test)]
mod tests {
    use super::*;
    use kennel_types::{LaunchToken, SessionSpec};

    fn session() -> Session {
        let id = SessionId::parse("0b6c00000001").unwrap();
        Session::new(id, SessionSpec::default(), LaunchToken::new(1), Vec::new())
    }

    #[test]
    fn every_way_to_change_a_session_gives_it_a_revision_that_none_had() {
        let (mut sessions, id) = (Sessions::default(), session().id);
        assert_eq!(sessions.revision(&id), None);
        assert!(sessions.get_mut(&id).is_none() && sessions.revision(&id).is_none());
        let mut seen = Vec::new();
        for _ in 0..2 {
            sessions.insert(session());
            seen.push(sessions.revision(&id).unwrap());
            sessions.insert(session());
            seen.push(sessions.revision(&id).unwrap());
            sessions.get_mut(&id).unwrap();
            seen.push(sessions.revision(&id).unwrap());
            assert!(sessions.get(&id).is_some());
            assert_eq!(sessions.revision(&id), seen.last().copied(), "a look is no change");
            sessions.remove(&id);
            assert_eq!(sessions.revision(&id), None);
        }
        assert!(seen.is_sorted_by(|former, later| former < later), "{seen:?}");
    }
}

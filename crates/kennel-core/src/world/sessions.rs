//! The sessions themselves. Each change of a session also changes its revision, so that a value
//! computed from it can be cached.

use std::collections::BTreeMap;
use std::ops::Deref;

use kennel_types::SessionId;

use crate::session::Session;

/// A number that a session gets with each change. It is never reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(u64);

/// A map of all sessions. It dereferences to the plain map for reading; all changes go through its
/// methods.
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

/// Revisions do not count.
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
    fn each_change_of_a_session_gives_it_a_new_revision() {
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
            assert_eq!(sessions.revision(&id), seen.last().copied(), "reading is not a change");
            sessions.remove(&id);
            assert_eq!(sessions.revision(&id), None);
        }
        assert!(seen.is_sorted_by(|former, later| former < later), "{seen:?}");
    }
}

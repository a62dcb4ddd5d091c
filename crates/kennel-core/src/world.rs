//! All sessions and members of a home: admission, parents and children, relaunches, lookups.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kennel_types::{Phase, Reason, RelaunchState, SessionId};

use crate::effect::Effect;
use crate::event::{Event, StopIntent};
use crate::member::Member;
use crate::session::{DesiredState, Session, Writing};

mod find;
mod key;
mod members;
mod queue;
mod relaunch;
mod sessions;
#[cfg(test)]
mod tests;

pub use find::FindError;
pub use key::Keyed;
pub use members::{Judgement, MemberRemoveError, MemberTaken};
pub use relaunch::{Relaunch, RelaunchBy, RelaunchChanges, RelaunchRefusal, Relaunched};
pub use sessions::Revision;

use sessions::Sessions;

type Effects = Vec<(SessionId, Effect)>;

/// All sessions and members of a home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct World {
    sessions: Sessions,
    children: BTreeMap<SessionId, BTreeSet<SessionId>>,
    names: BTreeMap<String, BTreeSet<SessionId>>,
    keys: BTreeMap<String, BTreeSet<SessionId>>,
    members: BTreeMap<String, Member>,
    draining: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdmitError {
    #[error("the daemon is shutting down and accepts no new sessions")]
    Draining,
    #[error("session {0} already exists")]
    IdTaken(SessionId),
    #[error("the name {name:?} is taken by session {by}, which has not ended")]
    NameTaken {
        name: String,
        /// The live session that has it.
        by: SessionId,
    },
    #[error("the key {key:?} belongs to session {by}, which has not ended")]
    KeyTaken {
        key: String,
        /// The live session that has it.
        by: SessionId,
    },
    #[error("unknown parent session {0}")]
    ParentUnknown(SessionId),
    #[error("the parent session {0} has ended or is being stopped")]
    ParentEnded(SessionId),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoveSessionError {
    #[error("there is no session {0}")]
    Unknown(SessionId),
    #[error("session {0} has not ended, or its cleanup is not complete")]
    Live(SessionId),
    #[error("the outcome of session {0} is not recorded yet")]
    Unrecorded(SessionId),
    #[error("session {0} is about to be launched again; stop it first")]
    RelaunchPending(SessionId),
    /// It is the latest launch of a session, from which the ids of later ones are derived.
    #[error("{0} is the latest launch of a session; remove the earlier ones first, or all of them")]
    Latest(SessionId),
}

impl World {
    /// Restores the sessions of the register, once, when the daemon starts.
    #[must_use]
    pub fn restore(&mut self, sessions: impl IntoIterator<Item = Session>) -> Effects {
        let ids: Vec<_> = sessions.into_iter().map(|session| self.insert(session)).collect();
        let mut effects = Vec::new();
        // All of them first: only a stop that was read from a row counts here.
        for id in &ids {
            let session = self.sessions.get_mut(id);
            let todo = session.map(|session| session.step(&Event::Restored)).unwrap_or_default();
            effects.extend(tagged(id, todo));
        }
        // The row of the next launch may have been written before that of its predecessor.
        for id in &ids {
            let superseded = self.newest(id).is_some_and(|newest| newest.id != *id);
            let session = self
                .sessions
                .get_mut(id)
                .filter(|session| superseded && session.relaunch == RelaunchState::Pending);
            if let Some(session) = session {
                effects.extend(tagged(id, session.settle_relaunch(RelaunchState::Launched)));
            }
        }
        // Children got their parent's stop, but its record may have been lost. A parent without a
        // record was cleaned up.
        for id in &ids {
            self.end_children(id, &mut effects);
            let parent = self.sessions.get(id).and_then(|session| session.spec.parent.as_ref());
            if parent.is_some_and(|parent| !self.sessions.contains_key(parent)) {
                self.end_child(id, None, &mut effects);
            }
        }
        effects
    }

    /// Adds a new session, or refuses it.
    pub fn admit(&mut self, mut session: Session) -> Result<Effects, AdmitError> {
        self.check_admissible(&session)?;
        if session.phase == Phase::Queued {
            session.ticket = self.next_ticket();
        }
        let effects = session.first_effects();
        let id = self.insert(session);
        Ok(tagged(&id, effects).collect())
    }

    fn check_admissible(&self, session: &Session) -> Result<(), AdmitError> {
        if self.draining {
            return Err(AdmitError::Draining);
        }
        if self.sessions.contains_key(&session.id) {
            return Err(AdmitError::IdTaken(session.id.clone()));
        }
        if let Some(name) = &session.spec.name
            && let Some(by) = self.live_by_name(name)
        {
            return Err(AdmitError::NameTaken { name: name.clone(), by: by.clone() });
        }
        if let Some(key) = &session.spec.key
            && let Some(by) = self.live_by_key(key, &session.id)
        {
            return Err(AdmitError::KeyTaken { key: key.clone(), by: by.clone() });
        }
        let Some(id) = &session.spec.parent else { return Ok(()) };
        let parent = self.sessions.get(id).ok_or_else(|| AdmitError::ParentUnknown(id.clone()))?;
        // The stop of the parent would not reach a child that is added after it.
        let ending = parent.is_stop_wanted() && !session.spec.outlives_parent;
        if parent.has_ended() || ending { Err(AdmitError::ParentEnded(id.clone())) } else { Ok(()) }
    }

    fn insert(&mut self, session: Session) -> SessionId {
        let id = session.id.clone();
        if let Some(parent) = &session.spec.parent {
            self.children.entry(parent.clone()).or_default().insert(id.clone());
        }
        if let Some(name) = &session.spec.name {
            self.names.entry(name.clone()).or_default().insert(id.clone());
        }
        if let Some(key) = &session.spec.key {
            self.keys.entry(key.clone()).or_default().insert(id.clone());
        }
        self.sessions.insert(session);
        id
    }

    /// Applies an event to a session, and stops its children if it has ended or is being stopped.
    /// Returns the effects to carry out. An event for an unknown session changes nothing.
    #[must_use]
    pub fn step(&mut self, id: &SessionId, event: &Event) -> Effects {
        let mut effects = Vec::new();
        let Some(session) = self.sessions.get_mut(id) else { return effects };
        effects.extend(tagged(id, session.step(event)));
        self.end_children(id, &mut effects);
        effects
    }

    fn end_children(&mut self, id: &SessionId, effects: &mut Effects) {
        let Some(parent) = self.sessions.get(id) else { return };
        let grace = match parent.wanted {
            DesiredState::Stopped { grace } => Some(grace),
            DesiredState::Running if parent.has_ended() => None,
            DesiredState::Running => return,
        };
        for child in self.children.get(id).cloned().unwrap_or_default() {
            self.end_child(&child, grace, effects);
        }
    }

    /// Stops a child, with no more grace than its parent has.
    fn end_child(&mut self, id: &SessionId, grace: Option<Duration>, effects: &mut Effects) {
        let Some(child) = self.sessions.get_mut(id) else { return };
        let grace = grace.map_or(child.spec.grace, |grace| grace.min(child.spec.grace));
        let new = match child.wanted {
            DesiredState::Running => true,
            DesiredState::Stopped { grace: before } => grace < before,
        };
        // Its next launch would be refused, so the stop calls it off.
        let pending = child.relaunch == RelaunchState::Pending;
        let over = child.has_ended() && !pending;
        if !(new || pending) || child.spec.outlives_parent || over {
            return;
        }
        let stop = StopIntent { grace: Some(grace), reason: Reason::ParentEnded };
        effects.extend(tagged(id, child.step(&Event::StopAsked(stop))));
        self.end_children(id, effects);
    }

    /// Stops all sessions, and refuses new ones from now on.
    #[must_use]
    pub fn drain(&mut self, grace: Option<Duration>) -> Effects {
        self.draining = true;
        let stop = Event::StopAsked(StopIntent { grace, reason: Reason::Shutdown });
        let mut effects = Vec::new();
        let ids: Vec<_> = self.sessions.keys().cloned().collect();
        for id in &ids {
            let session = self.sessions.get_mut(id);
            let todo = session.map(|session| session.step(&stop)).unwrap_or_default();
            effects.extend(tagged(id, todo));
        }
        effects
    }

    /// Returns whether new sessions are refused because of a shutdown.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Removes a launch that is cleaned up and recorded. The latest launch of a session must be
    /// removed last, or with all others: [`World::remove_all`].
    pub fn remove(&mut self, id: &SessionId) -> Result<Session, RemoveSessionError> {
        self.check_removable(id)?;
        let is_latest = self.newest(id).is_some_and(|newest| newest.id == *id);
        if is_latest && self.launches(id).count() > 1 {
            return Err(RemoveSessionError::Latest(id.clone()));
        }
        self.take_out(id)
    }

    /// Removes all launches of a session if all are cleaned up and recorded, or else none.
    pub fn remove_all(&mut self, id: &SessionId) -> Result<Vec<Session>, RemoveSessionError> {
        let ids: Vec<_> = self.launches(id).map(|session| session.id.clone()).collect();
        if ids.is_empty() {
            return Err(RemoveSessionError::Unknown(id.clone()));
        }
        ids.iter().try_for_each(|id| self.check_removable(id))?;
        ids.iter().map(|id| self.take_out(id)).collect()
    }

    fn check_removable(&self, id: &SessionId) -> Result<(), RemoveSessionError> {
        let session =
            self.sessions.get(id).ok_or_else(|| RemoveSessionError::Unknown(id.clone()))?;
        if session.phase != Phase::Cleaned {
            return Err(RemoveSessionError::Live(id.clone()));
        }
        if session.underway.writing != Writing::Settled {
            return Err(RemoveSessionError::Unrecorded(id.clone()));
        }
        let is_latest = self.newest(id).is_some_and(|newest| newest.id == *id);
        let asked = session.awaits_verdict() || session.relaunch == RelaunchState::Pending;
        if is_latest && asked {
            return Err(RemoveSessionError::RelaunchPending(id.clone()));
        }
        Ok(())
    }

    fn take_out(&mut self, id: &SessionId) -> Result<Session, RemoveSessionError> {
        let session =
            self.sessions.remove(id).ok_or_else(|| RemoveSessionError::Unknown(id.clone()))?;
        if let Some(parent) = &session.spec.parent {
            forget(&mut self.children, parent, id);
        }
        if let Some(name) = &session.spec.name {
            forget(&mut self.names, name, id);
        }
        if let Some(key) = &session.spec.key {
            forget(&mut self.keys, key, id);
        }
        Ok(session)
    }

    #[must_use]
    pub fn get(&self, id: &SessionId) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// Returns the revision of a launch, which changes with it.
    #[must_use]
    pub fn revision(&self, id: &SessionId) -> Option<Revision> {
        self.sessions.revision(id)
    }

    pub fn sessions(&self) -> impl DoubleEndedIterator<Item = &Session> + ExactSizeIterator {
        self.sessions.values()
    }
}

fn tagged(id: &SessionId, effects: Vec<Effect>) -> impl Iterator<Item = (SessionId, Effect)> {
    effects.into_iter().map(|effect| (id.clone(), effect))
}

fn forget<K: Ord>(index: &mut BTreeMap<K, BTreeSet<SessionId>>, key: &K, id: &SessionId) {
    if let Some(ids) = index.get_mut(key) {
        ids.remove(id);
        if ids.is_empty() {
            index.remove(key);
        }
    }
}

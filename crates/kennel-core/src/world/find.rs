//! Finding the session that a user refers to.

use std::fmt;

use kennel_types::suggestion::{nearest, similarity};
use kennel_types::{SessionId, StartedBy, parse_first_launch};

use crate::session::Session;

use super::World;

/// The maximum number of candidates or suggestions in a message.
const MAX_LISTED: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("there is no session {reference:?}{}", DidYouMean(.near))]
    NotFound {
        reference: String,
        /// Similar names and ids, the most similar first.
        near: Vec<String>,
    },
    #[error("{reference:?} is ambiguous: it may be {}", Listed(.candidates))]
    Ambiguous { reference: String, candidates: Vec<SessionId> },
}

struct DidYouMean<'a>(&'a [String]);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            Ok(())
        } else {
            write!(f, "; did you mean {}?", self.0.join(" or "))
        }
    }
}

struct Listed<'a>(&'a [SessionId]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<_> = self.0.iter().take(MAX_LISTED).map(SessionId::as_str).collect();
        f.write_str(&named.join(" or "))?;
        match self.0.len().saturating_sub(MAX_LISTED) {
            0 => Ok(()),
            more => write!(f, ", or one of {more} more"),
        }
    }
}

impl World {
    /// Finds a session by its id, its name, or a unique prefix of its id. Of several sessions with
    /// a name, the live one is found, or else the latest. A session stands for its latest launch; a
    /// certain launch is `ID_1`, `ID_2`, …. Fails if no session matches, or several do.
    pub fn find(&self, reference: &str) -> Result<&SessionId, FindError> {
        if let Some(id) = self.exact(reference) {
            return Ok(id);
        }
        if let Some(id) = self.live_by_name(reference).or_else(|| self.latest_by_name(reference)) {
            return Ok(id);
        }
        let candidates = self.beginning_with(reference);
        match candidates[..] {
            [id] => Ok(id),
            [] => Err(FindError::NotFound {
                reference: reference.to_owned(),
                near: self.near(reference),
            }),
            _ => Err(FindError::Ambiguous {
                reference: reference.to_owned(),
                candidates: candidates.into_iter().cloned().collect(),
            }),
        }
    }

    /// Returns a session whose id begins with this name, so that the two could be confused.
    #[must_use]
    pub fn mistaken_for(&self, name: &str) -> Option<&SessionId> {
        self.beginning_with(name).into_iter().next()
    }

    fn exact(&self, reference: &str) -> Option<&SessionId> {
        if let Some(first) = parse_first_launch(reference) {
            return self.sessions.get_key_value(&first).map(|(id, _)| id);
        }
        let id = SessionId::parse(reference).ok()?;
        match id.attempt() {
            1 => self.newest(&id).map(|session| &session.id),
            _ => self.sessions.get_key_value(&id).map(|(id, _)| id),
        }
    }

    /// Returns the session that follows the adopted process with this identity.
    #[must_use]
    pub fn follower_of(&self, identity: &str) -> Option<&Session> {
        self.sessions.values().find(|session| {
            session.started_by == StartedBy::User
                && !session.has_ended()
                && session.launch.identity.as_deref() == Some(identity)
        })
    }

    pub(super) fn live_by_name(&self, name: &str) -> Option<&SessionId> {
        let mut ids = self.names.get(name)?.iter().rev();
        ids.find(|id| self.sessions.get(id).is_some_and(|session| session.is_live()))
    }

    fn latest_by_name(&self, name: &str) -> Option<&SessionId> {
        self.names.get(name)?.last()
    }

    /// Returns the latest launches of the sessions whose ids begin with a prefix.
    fn beginning_with(&self, prefix: &str) -> Vec<&SessionId> {
        let mut latest: Vec<&SessionId> = Vec::new();
        // An empty prefix matches no session.
        let meant = |id: &&SessionId| !prefix.is_empty() && id.base_str().starts_with(prefix);
        for id in self.sessions.keys().filter(meant) {
            match latest.last_mut() {
                Some(before) if before.is_same_session(id) => *before = id,
                _ => latest.push(id),
            }
        }
        latest
    }

    /// Returns the name of the member that is most similar to this one.
    #[must_use]
    pub fn member_like(&self, name: &str) -> Option<&str> {
        nearest(name, self.members.keys().map(String::as_str))
    }

    fn near(&self, reference: &str) -> Vec<String> {
        let length = reference.chars().count();
        if length <= 1 {
            return Vec::new();
        }
        let names = self.names.keys().map(|name| (name.as_str(), name.as_str()));
        // A reference can be the beginning of an id.
        let ids = self.sessions.keys().map(SessionId::as_str);
        let ids = ids.map(|id| (id, id.get(..length).unwrap_or(id)));
        let mut near: Vec<_> = names
            .chain(ids)
            .filter_map(|(word, compared)| Some((similarity(reference, compared)?, word)))
            .collect();
        near.sort();
        near.into_iter().take(MAX_LISTED).map(|(_, word)| word.to_owned()).collect()
    }
}

//! The same request twice is the same session.

use std::time::Duration;

use kennel_types::{RelaunchState, SessionId, SessionSpec};

use crate::session::Session;

use super::World;

/// What a key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Keyed {
    /// Nothing, or something that is long over: a new session may have it. Also if there is no key.
    Free,
    /// This one, which was asked for in the same way: it is the answer.
    Same(SessionId),
    /// This one, which was asked for in another way: the request is refused.
    Different {
        /// Which.
        by: SessionId,
        /// What differs: names of fields of [`SessionSpec`].
        fields: Vec<&'static str>,
    },
}

impl World {
    /// What the key of a request stands for: a session that lives or goes on, or ended less than `retention` ago.
    /// `ended_ago` says how long ago one that is cleaned up was seen to end; none if nobody knows.
    pub fn by_key(
        &self,
        spec: &SessionSpec,
        retention: Duration,
        ended_ago: impl Fn(&Session) -> Option<Duration>,
    ) -> Keyed {
        let Some(ids) = spec.key.as_ref().and_then(|key| self.keys.get(key)) else {
            return Keyed::Free;
        };
        let kept = |session: &&Session| ended_ago(session).is_some_and(|ago| ago < retention);
        let sessions = || ids.iter().rev().filter_map(|id| self.sessions.get(id));
        // The live one, wherever it stands: a former one may have been launched again.
        let found = sessions().find(|it| it.goes_on()).or_else(|| sessions().find(kept));
        let Some(found) = found else { return Keyed::Free };
        // As it was asked for at first: a later launch may have been asked for in another way.
        let first = self.launches(&found.id).next().unwrap_or(found);
        match first.spec.differences(spec) {
            fields if fields.is_empty() => Keyed::Same(found.id.clone()),
            fields => Keyed::Different { by: found.id.clone(), fields },
        }
    }

    /// Who keeps a launch from having this key; a former launch of the same session does not.
    pub(super) fn live_by_key(&self, key: &str, of: &SessionId) -> Option<&SessionId> {
        let mut ids = self.keys.get(key)?.iter().rev();
        let holds = |it: &Session| it.is_live() || it.goes_on() && !it.id.is_same_session(of);
        ids.find(|id| self.sessions.get(id).is_some_and(holds))
    }
}

impl Session {
    /// Whether it lives, or nobody has spoken the last word on it: its verdict is due, or another launch.
    fn goes_on(&self) -> bool {
        self.is_live() || self.awaits_verdict() || self.relaunch == RelaunchState::Pending
    }
}

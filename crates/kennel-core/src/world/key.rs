//! Idempotency keys: two requests with the same key are one session.

use std::time::Duration;

use kennel_types::{RelaunchState, SessionId, SessionSpec};

use crate::session::Session;

use super::World;

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Keyed {
    /// The key is unused or expired, or the request has none: a new session may use it.
    Free,
    /// A session with the same request has it. That session is the response.
    Same(SessionId),
    /// A session with a different request has it. The request is refused.
    Different {
        by: SessionId,
        /// The fields of [`SessionSpec`] that differ.
        fields: Vec<&'static str>,
    },
}

impl World {
    /// Finds the session that has the key of a request: one that is live or continues, or ended
    /// less than `retention` ago. `ended_ago` returns how long ago a cleaned session ended, if that
    /// is known.
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
        // The live one first, in any position: an older session may have been launched again.
        let found = sessions().find(|it| it.continues()).or_else(|| sessions().find(kept));
        let Some(found) = found else { return Keyed::Free };
        // Compare with its first launch: a later one may have been requested differently.
        let first = self.launches(&found.id).next().unwrap_or(found);
        match first.spec.differences(spec) {
            fields if fields.is_empty() => Keyed::Same(found.id.clone()),
            fields => Keyed::Different { by: found.id.clone(), fields },
        }
    }

    /// Returns the session that keeps a launch from using a key. An earlier launch of the same
    /// session does not.
    pub(super) fn live_by_key(&self, key: &str, of: &SessionId) -> Option<&SessionId> {
        let mut ids = self.keys.get(key)?.iter().rev();
        let holds = |it: &Session| it.is_live() || it.continues() && !it.id.is_same_session(of);
        ids.find(|id| self.sessions.get(id).is_some_and(holds))
    }
}

impl Session {
    /// Returns whether the session is live, or its verdict or another launch is still due.
    fn continues(&self) -> bool {
        self.is_live() || self.awaits_verdict() || self.relaunch == RelaunchState::Pending
    }
}

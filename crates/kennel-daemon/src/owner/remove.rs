//! Removing sessions that are over: first the folder, then the row.

use std::collections::BTreeSet;

use kennel_core::{RemoveSessionError, Writing};
use kennel_keeper::fault::point;
use kennel_register::{Retention, WriteError};
use kennel_types::api::PruneResponse;
use kennel_types::{Phase, RelaunchState, SessionId};
use tokio::task::spawn_blocking;

use super::Owner;
use super::step::new_event;
use crate::error::{Answer, ApiError, or_refuse};
use crate::recover::clean_up::remove_folder;
use crate::worktree::worktrees::kept_path;

/// After this many ends the register is trimmed.
const TRIM_AFTER: usize = 100;
const EVENT_LIMIT: u64 = 100_000;

/// How many ended sessions are kept, and when the register is trimmed.
#[derive(Debug)]
pub(super) struct EndedSessions {
    limit: usize,
    ended_since_trim: usize,
}

impl EndedSessions {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ended_since_trim: 0 }
    }

    pub(super) fn ended_limit(&self) -> usize {
        self.limit
    }

    /// One more session has ended. Returns whether the register must be trimmed.
    #[must_use]
    pub(super) fn count_ended(&mut self) -> bool {
        self.ended_since_trim += 1;
        self.ended_since_trim >= TRIM_AFTER
    }

    /// The register is being trimmed. Returns what is kept.
    fn begin_trim(&mut self) -> Retention {
        self.ended_since_trim = 0;
        Retention { max_events: EVENT_LIMIT, max_ended_sessions: self.limit as u64 }
    }
}

/// Called with the sessions that were removed and with what failed, once that is on record.
type RemovalDone = Box<dyn FnOnce(Vec<SessionId>, Result<(), ApiError>) + Send>;

impl Owner {
    pub(crate) fn remove(&mut self, reference: &str, answer: Answer<()>) {
        let removable = self.find(reference).and_then(|id| self.removable_launches(&id));
        let Some((ids, answer)) = or_refuse(removable, answer) else { return };
        self.remove_folders(ids, Box::new(|_, result| drop(answer.send(result))));
    }

    /// Removes all sessions that are over, or that ended before a time. A session whose key is
    /// still held is removed only by name. A dry run returns what would be removed.
    pub(crate) fn prune(
        &mut self,
        before_ms: Option<u64>,
        dry_run: bool,
        answer: Answer<PruneResponse>,
    ) {
        let old = |id: &SessionId| {
            let ended = self.launches.get(id).and_then(|runtime| runtime.times.ended_ms);
            before_ms.is_none_or(|before| ended.is_none_or(|ended| ended < before))
        };
        // A session is as old as its latest launch.
        let is_latest = |id: &SessionId| self.world.newest(id).is_some_and(|it| it.id == *id);
        let latest = self.world.sessions().map(|session| &session.id);
        let latest = latest.filter(|id| is_latest(id) && old(id));
        let (mut removable, mut response) = (Vec::new(), PruneResponse::default());
        for id in latest {
            let launches = || self.world.launches(id);
            let kept = launches().filter(|launch| kept_path(&self.world, &launch.id).is_some());
            response.with_worktrees.extend(kept.map(|launch| launch.id.to_string()));
            match self.removable_launches(id) {
                Ok(_) if launches().any(|launch| self.holds_key(launch)) => {
                    response.with_keys.push(id.to_string());
                }
                Ok(ids) => removable.extend(ids),
                Err(_) => {}
            }
        }
        let done = |removed: Vec<SessionId>, result: Result<(), ApiError>| {
            response.removed = removed.iter().map(ToString::to_string).collect();
            drop(answer.send(result.map(|()| response)));
        };
        match dry_run {
            true => done(removable, Ok(())),
            false => self.remove_folders(removable, Box::new(done)),
        }
    }

    /// Returns all launches of a session, the first one first, if all can be removed.
    fn removable_launches(&self, id: &SessionId) -> Result<Vec<SessionId>, ApiError> {
        let ids: Vec<_> = self.world.launches(id).map(|session| session.id.clone()).collect();
        ids.iter().try_for_each(|id| self.removable(id))?;
        Ok(ids)
    }

    fn removable(&self, id: &SessionId) -> Result<(), ApiError> {
        let Some(session) = self.world.get(id) else {
            return Err(RemoveSessionError::Unknown(id.clone()).into());
        };
        if session.phase != Phase::Cleaned {
            return Err(RemoveSessionError::Live(id.clone()).into());
        }
        if session.underway.writing != Writing::Settled {
            return Err(RemoveSessionError::Unrecorded(id.clone()).into());
        }
        if session.relaunch == RelaunchState::Pending || session.awaits_verdict() {
            return Err(RemoveSessionError::RelaunchPending(id.clone()).into());
        }
        if let Some(plan) = self.plans.needing(session) {
            let text = format!("session {id} belongs to plan {plan}, which is not over");
            return Err(ApiError::conflict(text).hint("remove it when the plan is over"));
        }
        if let Some(path) = kept_path(&self.world, id) {
            let text = format!("session {id} has left a worktree that is kept: {path}");
            return Err(ApiError::conflict(text).hint(format!(
                "`kennel worktrees rm {id}` removes it, or lists what would be lost"
            )));
        }
        if self.launches.get(id).is_some_and(|runtime| runtime.removing) {
            return Err(ApiError::conflict(format!("session {id} is being removed")));
        }
        Ok(())
    }

    fn remove_folders(&mut self, ids: Vec<SessionId>, done: RemovalDone) {
        for id in &ids {
            self.launches.update(id, |runtime| runtime.removing = true);
        }
        let (bus, home) = (self.bus.clone(), self.home.clone());
        spawn_blocking(move || {
            let (mut removed, mut failed) = (Vec::new(), Vec::new());
            for id in ids {
                match remove_folder(&home.session(&id)) {
                    Ok(()) => removed.push(id),
                    Err(error) => failed.push((id, error.to_string())),
                }
            }
            point("daemon.remove.folders_removed");
            bus.call(move |owner| owner.folders_removed(removed, failed, done));
        });
    }

    fn folders_removed(
        &mut self,
        mut removed: Vec<SessionId>,
        failed: Vec<(SessionId, String)>,
        done: RemovalDone,
    ) {
        // The latest launch of a session is removed last: the next one is numbered after it.
        let elder_left = |id: &SessionId| {
            failed.iter().any(|(other, _)| other.is_same_session(id) && other < id)
        };
        let not_removed: Vec<_> = removed.extract_if(.., |id| elder_left(id)).collect();
        for (id, why) in &failed {
            tracing::warn!(session = %id, %why, "can't remove the folder of a session");
        }
        for id in not_removed.iter().chain(failed.iter().map(|(id, _)| id)) {
            self.launches.update(id, |runtime| runtime.removing = false);
        }
        for id in &removed {
            if let Err(error) = self.world.remove(id) {
                tracing::error!(%error, "can't remove a session from the live set");
            }
            self.launches.remove(id);
        }
        let result = match failed.first() {
            Some((id, why)) => Err(ApiError::internal(format!("session {id}: {why}"))),
            None => Ok(()),
        };
        if removed.is_empty() {
            return done(removed, result);
        }
        let only = removed.first().filter(|_| removed.len() == 1).cloned();
        let event = new_event(only, "removed", listed(&removed), None);
        let answer = self.register.remove(removed.clone(), event);
        tokio::spawn(async move {
            let written = answer.await.unwrap_or(Err(WriteError::Closed));
            point("daemon.remove.rows_removed");
            done(removed, result.and(written.map_err(ApiError::internal)));
        });
    }

    // Limits.

    pub(crate) fn trim(&mut self) {
        let answer = self.register.retain(self.retention.begin_trim());
        let bus = self.bus.clone();
        tokio::spawn(async move {
            match answer.await.unwrap_or(Err(WriteError::Closed)) {
                Ok(retained) => drop(bus.call(|owner| owner.remove_excess(retained.excess))),
                Err(error) => tracing::warn!(%error, "can't trim the register"),
            }
        });
    }

    fn remove_excess(&mut self, sessions: Vec<SessionId>) {
        let mut excess: BTreeSet<_> =
            sessions.into_iter().filter(|id| self.removable(id).is_ok()).collect();
        // The latest launch of a session stays as long as an earlier one does.
        let all = excess.clone();
        excess.retain(|id| {
            let is_latest = self.world.newest(id).is_some_and(|newest| newest.id == *id);
            !is_latest || self.world.launches(id).all(|launch| all.contains(&launch.id))
        });
        if !excess.is_empty() {
            let done = |_, result: Result<(), ApiError>| {
                if let Err(error) = result {
                    tracing::warn!(?error, "can't remove all sessions beyond the limit");
                }
            };
            self.remove_folders(excess.into_iter().collect(), Box::new(done));
        }
    }
}

/// Lists some of the ids, and how many more there are.
fn listed(ids: &[SessionId]) -> String {
    const NAMED: usize = 10;
    let named: Vec<_> = ids.iter().take(NAMED).map(SessionId::as_str).collect();
    match ids.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trims_after_a_number_of_ends() {
        let mut ended = EndedSessions::new(7);
        assert_eq!((1..=TRIM_AFTER).find(|_| ended.count_ended()), Some(TRIM_AFTER));
        assert_eq!(ended.begin_trim().max_ended_sessions, 7);
        assert!(!ended.count_ended());
    }

    #[test]
    fn lists_the_first_ids() {
        let mut ids = kennel_types::IdMaker::default();
        let ids: Vec<_> = (0..12).map(|time| ids.next(time, 1)).collect();
        assert_eq!(listed(&ids[..1]), ids[0].as_str());
        assert!(listed(&ids).ends_with(" and 2 more"));
    }
}

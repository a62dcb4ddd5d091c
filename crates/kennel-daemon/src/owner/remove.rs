//! Removing sessions that are over: first the folder, then the row.

use std::collections::BTreeSet;

use kennel_core::{RemoveSessionError, Writing};
use kennel_keeper::fault::point;
use kennel_register::{NewEvent, Retention, WriteError};
use kennel_types::{Phase, RelaunchState, SessionId};
use tokio::task::spawn_blocking;

use super::Owner;
use crate::error::{Answer, ApiError};
use crate::os::clock;
use crate::owner::message::{Message, Pruned, Pruning, Removal, Spared};
use crate::recover::clean_up::remove_folder;
use crate::worktree::worktrees::kept_path;

/// After this many ends the register is trimmed.
const ENDS: usize = 100;
/// How many events are kept.
const EVENTS: u64 = 100_000;

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
    pub(super) fn one_more_ended(&mut self) -> bool {
        self.ended_since_trim += 1;
        self.ended_since_trim >= ENDS
    }

    /// The register is being trimmed. Returns what is kept.
    fn begin_trim(&mut self) -> Retention {
        self.ended_since_trim = 0;
        Retention { max_events: EVENTS, max_ended_sessions: self.limit as u64 }
    }
}

impl Owner {
    pub(super) fn remove(&mut self, id: SessionId, answer: Answer<()>) {
        match self.removable_launches(&id) {
            Ok(ids) => self.remove_folders(ids, Removal::One(answer)),
            Err(refused) => drop(answer.send(Err(refused))),
        }
    }

    /// Removes all sessions that are over, or that ended before a time. A session whose key is still held is removed
    /// only by name.
    pub(super) fn prune(
        &mut self,
        before_ms: Option<u64>,
        pruning: Pruning,
        answer: Answer<Pruned>,
    ) {
        let old = |id: &SessionId| {
            let ended = self.runtimes.get(id).and_then(|runtime| runtime.times.ended_ms);
            before_ms.is_none_or(|before| ended.is_none_or(|ended| ended < before))
        };
        // A session is as old as its latest launch.
        let is_latest = |id: &SessionId| self.world.newest(id).is_some_and(|it| it.id == *id);
        let latest = self.world.sessions().map(|session| &session.id);
        let latest = latest.filter(|id| is_latest(id) && old(id));
        let (mut removed, mut spared) = (Vec::new(), Spared::default());
        for id in latest {
            let launches = || self.world.launches(id);
            let kept = launches().filter(|launch| kept_path(&self.world, &launch.id).is_some());
            spared.with_worktrees.extend(kept.map(|launch| launch.id.clone()));
            match self.removable_launches(id) {
                Ok(_) if launches().any(|launch| self.holds_key(launch)) => {
                    spared.with_keys.push(id.clone());
                }
                Ok(ids) => removed.extend(ids),
                Err(_) => {}
            }
        }
        match pruning {
            Pruning::OnlySaid => drop(answer.send(Ok(Pruned { removed, spared }))),
            Pruning::Done => self.remove_folders(removed, Removal::Prune { spared, answer }),
        }
    }

    /// Returns all launches of a session, the first one first, if all can be removed.
    fn removable_launches(&self, id: &SessionId) -> Result<Vec<SessionId>, ApiError> {
        let ids: Vec<_> = self.world.launches(id).map(|session| session.id.clone()).collect();
        ids.iter().try_for_each(|id| self.removable(id))?;
        Ok(ids)
    }

    /// Checks that a launch can be removed.
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
                "`kennel worktrees rm {id}` removes it, or says what would be lost"
            )));
        }
        if self.runtimes.get(id).is_some_and(|runtime| runtime.removing) {
            return Err(ApiError::conflict(format!("session {id} is being removed")));
        }
        Ok(())
    }

    fn remove_folders(&mut self, ids: Vec<SessionId>, done: Removal) {
        for id in &ids {
            if let Some(runtime) = self.runtimes.get_mut(id) {
                runtime.removing = true;
            }
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
            bus.send(Message::FoldersRemoved { removed, failed, done }).ok();
        });
    }

    pub(super) fn folders_removed(
        &mut self,
        mut removed: Vec<SessionId>,
        failed: Vec<(SessionId, String)>,
        done: Removal,
    ) {
        // The latest launch of a session is removed last: the next one is numbered after it.
        let elder_left = |id: &SessionId| {
            failed.iter().any(|(other, _)| other.is_same_session(id) && other < id)
        };
        for id in removed.extract_if(.., |id| elder_left(id)) {
            if let Some(runtime) = self.runtimes.get_mut(&id) {
                runtime.removing = false;
            }
        }
        for (id, why) in &failed {
            tracing::warn!(session = %id, %why, "can't remove the folder of a session");
            if let Some(runtime) = self.runtimes.get_mut(id) {
                runtime.removing = false;
            }
        }
        for id in &removed {
            if let Err(error) = self.world.remove(id) {
                tracing::error!(%error, "can't remove a session from the live set");
            }
            self.runtimes.remove(id);
        }
        let wrong = failed.into_iter().next();
        let wrong = wrong.map(|(id, why)| ApiError::internal(format!("session {id}: {why}")));
        if removed.is_empty() {
            return tell(done, removed, wrong);
        }
        let event = NewEvent {
            time_ms: clock::now_ms(),
            session: removed.first().filter(|_| removed.len() == 1).cloned(),
            kind: "removed".to_owned(),
            cause: listed(&removed),
            by: None,
        };
        let answer = self.register.remove(removed.clone(), event);
        tokio::spawn(async move {
            let result = answer.await.unwrap_or(Err(WriteError::Closed));
            point("daemon.remove.rows_removed");
            let wrong = wrong.or_else(|| result.err().map(ApiError::internal));
            tell(done, removed, wrong);
        });
    }

    // Limits.

    pub(super) fn trim(&mut self) {
        let answer = self.register.retain(self.retention.begin_trim());
        let bus = self.bus.clone();
        tokio::spawn(async move {
            match answer.await.unwrap_or(Err(WriteError::Closed)) {
                Ok(retained) => {
                    let sessions = retained.excess;
                    bus.send(Message::Excess { sessions }).ok();
                }
                Err(error) => tracing::warn!(%error, "can't trim the register"),
            }
        });
    }

    pub(super) fn remove_excess(&mut self, sessions: Vec<SessionId>) {
        let mut excess: BTreeSet<_> =
            sessions.into_iter().filter(|id| self.removable(id).is_ok()).collect();
        // The latest launch of a session stays as long as an earlier one does.
        let all = excess.clone();
        excess.retain(|id| {
            let is_latest = self.world.newest(id).is_some_and(|newest| newest.id == *id);
            !is_latest || self.world.launches(id).all(|launch| all.contains(&launch.id))
        });
        if !excess.is_empty() {
            self.remove_folders(excess.into_iter().collect(), Removal::Trim);
        }
    }
}

fn tell(done: Removal, removed: Vec<SessionId>, wrong: Option<ApiError>) {
    match (done, wrong) {
        (Removal::Trim, None) => {}
        (Removal::Trim, Some(wrong)) => {
            tracing::warn!(?wrong, "can't remove all sessions beyond the limit")
        }
        (Removal::One(answer), wrong) => drop(answer.send(wrong.map_or(Ok(()), Err))),
        (Removal::Prune { spared, answer }, None) => {
            drop(answer.send(Ok(Pruned { removed, spared })));
        }
        (Removal::Prune { answer, .. }, Some(wrong)) => drop(answer.send(Err(wrong))),
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
        assert_eq!((1..=ENDS).find(|_| ended.one_more_ended()), Some(ENDS));
        assert_eq!(ended.begin_trim().max_ended_sessions, 7);
        assert!(!ended.one_more_ended());
    }

    #[test]
    fn lists_the_first_ids() {
        let mut ids = kennel_types::IdMaker::default();
        let ids: Vec<_> = (0..12).map(|time| ids.next(time, 1)).collect();
        assert_eq!(listed(&ids[..1]), ids[0].as_str());
        assert!(listed(&ids).ends_with(" and 2 more"));
    }
}

//! Removing sessions that are over: the folder first, then the row.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use kennel_core::{RemoveError, Writing};
use kennel_keeper::fault::point;
use kennel_types::{Phase, RelaunchState, SessionId};
use tokio::task::spawn_blocking;

use super::Owner;
use crate::clock;
use crate::message::{Answer, Message, Pruned, Pruning, Removal, Spared};
use crate::refused::Refused;
use kennel_register::{NewEvent, Retention, WriteError};

/// After so many ends it is looked whether too much is kept.
const ENDS: usize = 100;
/// How many events are kept.
const EVENTS: u64 = 100_000;

impl Owner {
    pub(super) fn remove(&mut self, id: SessionId, answer: Answer<()>) {
        match self.removable_launches(&id) {
            Ok(ids) => self.remove_folders(ids, Removal::One(answer)),
            Err(refused) => drop(answer.send(Err(refused))),
        }
    }

    /// All that are over, and ended before a time, if one is given. A key that is still held is freed only by whoever
    /// names its session.
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
            let kept = launches().filter(|launch| self.kept_worktree(&launch.id).is_some());
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
            // Whoever has gone does not want to know.
            Pruning::OnlySaid => drop(answer.send(Ok(Pruned { removed, spared }))),
            Pruning::Done => self.remove_folders(removed, Removal::Prune { spared, answer }),
        }
    }

    /// All launches of a session, the first one first, if all are over and done with.
    fn removable_launches(&self, id: &SessionId) -> Result<Vec<SessionId>, Refused> {
        let ids: Vec<_> = self.world.launches(id).map(|session| session.id.clone()).collect();
        ids.iter().try_for_each(|id| self.removable(id))?;
        Ok(ids)
    }

    /// Whether a session is over and done with, and nobody is removing it.
    fn removable(&self, id: &SessionId) -> Result<(), Refused> {
        let Some(session) = self.world.get(id) else {
            return Err(RemoveError::Unknown(id.clone()).into());
        };
        if session.phase != Phase::Cleaned {
            return Err(RemoveError::Live(id.clone()).into());
        }
        if session.underway.writing != Writing::Settled {
            return Err(RemoveError::Unrecorded(id.clone()).into());
        }
        if session.relaunch == RelaunchState::Pending || session.awaits_verdict() {
            return Err(RemoveError::RelaunchPending(id.clone()).into());
        }
        if let Some(plan) = self.plans.needing(session) {
            let text = format!("session {id} is of plan {plan}, which is not over");
            return Err(Refused::conflict(text).hint("it can be removed when the plan is over"));
        }
        if let Some(path) = self.kept_worktree(id) {
            let text = format!("session {id} has left a worktree that is kept: {path}");
            return Err(Refused::conflict(text).hint(format!(
                "`kennel worktrees rm {id}` removes it, or says what would be lost"
            )));
        }
        if self.runtimes.get(id).is_some_and(|runtime| runtime.removing) {
            return Err(Refused::conflict(format!("session {id} is being removed")));
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
        // The latest launch of a session goes last: from it the next one is numbered.
        let elder_left =
            |id: &SessionId| failed.iter().any(|(other, _)| other.is_kin_of(id) && other < id);
        for id in removed.extract_if(.., |id| elder_left(id)) {
            if let Some(runtime) = self.runtimes.get_mut(&id) {
                runtime.removing = false;
            }
        }
        for (id, why) in &failed {
            tracing::warn!(session = %id, %why, "a session's folder can't be removed");
            if let Some(runtime) = self.runtimes.get_mut(id) {
                runtime.removing = false;
            }
        }
        for id in &removed {
            if let Err(error) = self.world.remove(id) {
                tracing::error!(%error, "a session was removed too early");
            }
            self.runtimes.remove(id);
        }
        let wrong = failed.into_iter().next();
        let wrong = wrong.map(|(id, why)| Refused::internal(format!("session {id}: {why}")));
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
            let wrong = wrong.or_else(|| result.err().map(Refused::internal));
            tell(done, removed, wrong);
        });
    }

    // Bounds.

    /// One more has ended: now and then it is looked whether too much is kept.
    pub(super) fn one_more_ended(&mut self) {
        self.ended_since_trim += 1;
        if self.ended_since_trim >= ENDS {
            self.tell_self(Message::TrimDue);
        }
    }

    pub(super) fn trim(&mut self) {
        self.ended_since_trim = 0;
        let max_ended_sessions = self.ended_kept as u64;
        let answer = self.register.retain(Retention { max_events: EVENTS, max_ended_sessions });
        let bus = self.bus.clone();
        tokio::spawn(async move {
            match answer.await.unwrap_or(Err(WriteError::Closed)) {
                Ok(retained) => {
                    let sessions = retained.excess;
                    bus.send(Message::Excess { sessions }).ok();
                }
                Err(error) => tracing::warn!(%error, "the register can't be trimmed"),
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

fn tell(done: Removal, removed: Vec<SessionId>, wrong: Option<Refused>) {
    match (done, wrong) {
        (Removal::Trim, None) => {}
        (Removal::Trim, Some(wrong)) => tracing::warn!(?wrong, "not all could be removed"),
        (Removal::One(answer), wrong) => drop(answer.send(wrong.map_or(Ok(()), Err))),
        (Removal::Prune { spared, answer }, None) => {
            drop(answer.send(Ok(Pruned { removed, spared })));
        }
        (Removal::Prune { answer, .. }, Some(wrong)) => drop(answer.send(Err(wrong))),
    }
}

/// A few of them by name.
fn listed(ids: &[SessionId]) -> String {
    const NAMED: usize = 10;
    let named: Vec<_> = ids.iter().take(NAMED).map(SessionId::as_str).collect();
    match ids.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Removes a session's folder with all that is in it; one that is gone is as good.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

//! Launches a session again, after its previous launch was cleaned up, once for all callers.
//!
//! ```text
//!  ID ── Cleaned ── relaunch ──> ID_2 ── Cleaned ── relaunch ──> ID_3 …
//! ```
//!
//! Each launch is a value of its own, so that an event of an earlier one never affects a later one.
//! A request names the launch to follow. If a later one exists already, that is the response, even
//! if it has ended meanwhile. So any number of concurrent requests get one launch.

use std::time::Duration;

use kennel_types::{
    KeptItem, LaunchToken, Owed, Phase, Reason, RelaunchState, SessionId, SessionSpec, StartedBy,
};

use crate::lifecycle::worktree;
use crate::restart::{self, NoRestartReason, RestartFacts, Restarts};
use crate::session::Session;

use super::{AdmitError, Effects, World, tagged};

#[derive(Debug, Clone)]
pub struct Relaunch {
    pub token: LaunchToken,
    /// The resources that will be created for it, as for a new session.
    pub owed: Vec<Owed>,
    pub queued: bool,
    pub by: RelaunchBy,
    pub changes: Option<RelaunchChanges>,
}

/// The differences between an attempt at a prompt and the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelaunchChanges {
    pub argv: Vec<String>,
    /// The conversation to continue. `None`: a new one.
    pub conversation: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelaunchBy {
    /// A user or program.
    Caller {
        /// The name of the caller, for the event log.
        name: String,
        /// The session that sent the request, if one did.
        parent: Option<SessionId>,
        /// Whether it ends when the client disconnects.
        tethered: bool,
    },
    /// The restart policy, after its pause.
    Policy { ran: Duration },
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Relaunched {
    /// There is a new launch.
    Admitted { id: SessionId, effects: Effects },
    /// A launch exists already: the previous one is live, or another caller was first.
    Already { id: SessionId },
    /// The previous launch is ending: retry with the same id when it is cleaned up.
    Wait { id: SessionId },
    /// The request is refused.
    Refused(RelaunchRefusal),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelaunchRefusal {
    #[error("there is no session {0}")]
    Unknown(SessionId),
    #[error("session {0} is a prompt, which Kennel does not store; ask again")]
    Prompt(SessionId),
    /// It is a chat, whose member and conversation are decided when it starts.
    #[error("session {0} is a chat; `kennel chat` starts another one")]
    Chat(SessionId),
    #[error("session {0} is lost and may still run; forget it, and start another one")]
    Lost(SessionId),
    #[error("session {0} was forgotten, and Kennel did not see it end; start another one")]
    Forgotten(SessionId),
    #[error("session {0} is an adopted process, which Kennel can't launch")]
    NotLaunched(SessionId),
    #[error("the next launch of session {0} was called off")]
    CalledOff(SessionId),
    /// A new session would be refused too.
    #[error(transparent)]
    Refused(#[from] AdmitError),
}

impl RelaunchRefusal {
    /// Returns why a user can't relaunch a prompt or chat.
    #[must_use]
    pub fn of_agent(session: &Session) -> Self {
        let id = session.id.clone();
        if session.spec.is_prompt() { Self::Prompt(id) } else { Self::Chat(id) }
    }
}

impl RelaunchChanges {
    pub(super) fn apply(self, spec: &mut SessionSpec) {
        spec.argv = self.argv;
        if let Some(agent) = &mut spec.agent {
            agent.conversation = self.conversation;
        }
    }
}

impl World {
    /// Returns all launches of the session that this id belongs to, the first one first.
    pub fn launches(&self, id: &SessionId) -> impl Iterator<Item = &Session> {
        let (first, kin) = (id.base(), id.clone());
        self.sessions
            .range(first..)
            .map(|(_, it)| it)
            .take_while(move |it| it.id.is_same_session(&kin))
    }

    #[must_use]
    pub fn newest(&self, id: &SessionId) -> Option<&Session> {
        self.launches(id).last()
    }

    pub(crate) fn knows(&self, id: &SessionId) -> bool {
        self.newest(id).is_some()
    }

    /// Launches a session again, after the launch with this id: see the module.
    pub fn relaunch(&mut self, after: &SessionId, how: Relaunch) -> Relaunched {
        let Some(newest) = self.newest(after) else {
            return Relaunched::Refused(RelaunchRefusal::Unknown(after.clone()));
        };
        if newest.id > *after {
            return Relaunched::Already { id: newest.id.clone() };
        }
        if newest.started_by == StartedBy::User {
            return Relaunched::Refused(RelaunchRefusal::NotLaunched(newest.id.clone()));
        }
        let by_caller = matches!(how.by, RelaunchBy::Caller { .. });
        if newest.spec.agent.is_some() && by_caller && !newest.is_asking() {
            return Relaunched::Refused(RelaunchRefusal::of_agent(newest));
        }
        if let Some(answer) = not_now(newest, &how.by) {
            return answer;
        }
        let (former, next) = (newest.id.clone(), next_launch(newest, how));
        let id = next.id.clone();
        let mut effects = match self.admit(next) {
            Ok(effects) => effects,
            Err(refusal) => return Relaunched::Refused(refusal.into()),
        };
        if let Some(session) = self.sessions.get_mut(&former) {
            effects.extend(tagged(&former, session.settle_relaunch(RelaunchState::Launched)));
        }
        Relaunched::Admitted { id, effects }
    }

    /// Returns the pause before the next launch, if the restart policy wants one after a latest
    /// launch that is cleaned up and ran this long. The launch is recorded as pending, so that a
    /// later stop calls it off, in this daemon or the next.
    pub fn consider_restart(
        &mut self,
        id: &SessionId,
        ran: Duration,
    ) -> (Result<Duration, NoRestartReason>, Effects) {
        let superseded = self.newest(id).is_none_or(|newest| newest.id != *id);
        let draining = self.draining;
        let Some(session) = self.sessions.get_mut(id) else {
            return (Err(NoRestartReason::NotEnded), Vec::new());
        };
        let decision = match restart::decide(&RestartFacts::of(session, ran)) {
            Ok(_) if session.is_live() => Err(NoRestartReason::NotEnded),
            Ok(_) if superseded => Err(NoRestartReason::Superseded),
            Ok(_) if draining => Err(NoRestartReason::Wanted),
            decision => decision,
        };
        let mut effects = Vec::new();
        if decision.is_ok() && session.relaunch == RelaunchState::Undecided {
            effects.extend(tagged(id, session.settle_relaunch(RelaunchState::Pending)));
        }
        (decision, effects)
    }

    /// Returns the kept resources of all launches, except those that a later launch has taken over.
    pub fn kept(&self) -> impl Iterator<Item = (&SessionId, &KeptItem)> {
        let ids = self.sessions.keys();
        ids.flat_map(|id| self.kept_by(id).map(move |kept| (id, kept)))
    }

    pub fn kept_by(&self, id: &SessionId) -> impl Iterator<Item = &KeptItem> {
        let session = self.sessions.get(id);
        session.into_iter().flat_map(move |session| {
            session.kept.iter().filter(|kept| !self.is_taken_over(&session.id, kept))
        })
    }

    fn is_taken_over(&self, id: &SessionId, kept: &KeptItem) -> bool {
        // Each launch owes its worktree from the beginning, so a later one that does not have it
        // any more removed it.
        let has_it = |later: &Session| worktree(&later.spec).as_ref() == Some(&kept.what);
        self.launches(id).any(|later| later.id > *id && has_it(later))
    }
}

/// Returns why no launch can follow the latest one now.
fn not_now(former: &Session, by: &RelaunchBy) -> Option<Relaunched> {
    let id = || former.id.clone();
    let refused = |refusal| Some(Relaunched::Refused(refusal));
    match former.phase {
        Phase::Cleaned => {}
        Phase::Lost => return refused(RelaunchRefusal::Lost(id())),
        Phase::Stopping | Phase::Reaped => return Some(Relaunched::Wait { id: id() }),
        _ if former.is_stop_wanted() || former.exit.is_some() => {
            return Some(Relaunched::Wait { id: id() });
        }
        _ => return Some(Relaunched::Already { id: id() }),
    }
    if matches!(former.reason, Some(Reason::Forgotten { .. })) {
        return refused(RelaunchRefusal::Forgotten(id()));
    }
    let by_policy = matches!(by, RelaunchBy::Policy { .. });
    if by_policy && former.relaunch != RelaunchState::Pending {
        return refused(RelaunchRefusal::CalledOff(id()));
    }
    None
}

fn next_launch(former: &Session, how: Relaunch) -> Session {
    let mut spec = former.spec.clone();
    if let Some(changes) = how.changes {
        changes.apply(&mut spec);
    }
    let restarts = match how.by {
        RelaunchBy::Caller { name, parent, tethered } => {
            spec.asked_by = name;
            spec.parent = parent;
            spec.tethered = tethered;
            Restarts::default()
        }
        RelaunchBy::Policy { ran } => former.restarts.after(ran),
    };
    let next = Session::new(former.id.next_attempt(), spec, how.token, how.owed);
    let next = Session { restarts, ..next };
    if how.queued { next.queued() } else { next }
}

//! Launching a session again: after its former launch was cleaned up, never before, and once for all who ask.
//!
//! ```text
//!  ID ── Cleaned ── relaunch ──> ID_2 ── Cleaned ── relaunch ──> ID_3 …
//! ```
//!
//! Each launch is a value of its own, so that an event of a former one never touches a later one. Whoever asks
//! says after which launch: if there is a later one already, that is the answer, even if it has ended meanwhile.
//! So any number who ask at the same time, or wait for the same end, get one launch.

use std::time::Duration;

use kennel_types::{
    KeptItem, LaunchToken, Owed, Phase, Reason, RelaunchState, SessionId, SessionSpec, StartedBy,
};

use crate::effect::Effect;
use crate::lifecycle::worktree;
use crate::restart::{self, NoRestartReason, RestartDecision, RestartFacts, Restarts};
use crate::session::Session;

use super::{AdmitError, Admitted, Effects, World, tagged};

/// A request for another launch.
#[derive(Debug, Clone)]
pub struct Relaunch {
    /// The new launch's secret.
    pub token: LaunchToken,
    /// What will be made for it, as for a new session.
    pub owed: Vec<Owed>,
    /// Whether it waits in line.
    pub queued: bool,
    /// Who wants it.
    pub by: RelaunchBy,
    /// In what it differs from the former launch.
    pub changes: Option<RelaunchChanges>,
}

/// In what another attempt at a prompt differs from the former one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelaunchChanges {
    /// The command.
    pub argv: Vec<String>,
    /// The conversation that goes on; none: a new one.
    pub conversation: Option<String>,
}

/// Who wants another launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelaunchBy {
    /// Somebody asked.
    Person {
        /// Who, for the event log.
        who: String,
        /// The session that asks, if one does.
        parent: Option<SessionId>,
        /// Whether it ends when that client goes without a word.
        tethered: bool,
    },
    /// The restart policy, after its pause.
    Policy {
        /// How long the former launch ran.
        ran: Duration,
    },
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Relaunched {
    /// There is a new launch.
    Admitted {
        /// Its id.
        id: SessionId,
        /// What is to be done.
        effects: Vec<(SessionId, Effect)>,
    },
    /// There is one already: the former one lives on, or somebody else was first.
    Already {
        /// Which.
        id: SessionId,
    },
    /// The former launch is about to end: ask again, with the same id, when it is cleaned up.
    Wait {
        /// Which.
        id: SessionId,
    },
    /// There is none.
    Refused(RelaunchRefusal),
}

/// Why there is no other launch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelaunchRefusal {
    /// There is no such session.
    #[error("there is no session {0}")]
    Unknown(SessionId),
    /// It is a prompt, which is on no record.
    #[error("session {0} is a prompt, which Kennel does not write down; ask again")]
    Prompt(SessionId),
    /// It is a chat: whose turn it is, and with which conversation, is decided when one begins.
    #[error("session {0} is a chat; `kennel chat` begins another one")]
    Chat(SessionId),
    /// Nobody knows whether the former launch still runs.
    #[error(
        "session {0} is lost: nobody can tell whether it still runs; forget it, and start another one"
    )]
    Lost(SessionId),
    /// The former launch was given up.
    #[error("session {0} was given up, and nobody saw it end; start another one")]
    Forgotten(SessionId),
    /// A user started it.
    #[error("session {0} was started in a terminal: there is no launch of it to repeat")]
    NotLaunched(SessionId),
    /// The policy wanted it, but somebody wants the end.
    #[error("the next launch of session {0} was called off")]
    CalledOff(SessionId),
    /// As for a new session.
    #[error(transparent)]
    Refused(#[from] AdmitError),
}

impl RelaunchRefusal {
    /// Why nobody has a prompt or a chat begin once more.
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
    /// All launches of the session that this id belongs to, the first one first.
    pub fn launches(&self, id: &SessionId) -> impl Iterator<Item = &Session> {
        let (first, kin) = (id.base(), id.clone());
        self.sessions
            .range(first..)
            .map(|(_, it)| it)
            .take_while(move |it| it.id.is_same_session(&kin))
    }

    /// The latest of them.
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
        let by_person = matches!(how.by, RelaunchBy::Person { .. });
        if newest.spec.agent.is_some() && by_person && !newest.is_asking() {
            return Relaunched::Refused(RelaunchRefusal::of_agent(newest));
        }
        if let Some(answer) = not_now(newest, &how.by) {
            return answer;
        }
        let (former, next) = (newest.id.clone(), next_launch(newest, how));
        let id = next.id.clone();
        let mut effects = match self.admit(next) {
            Admitted::Admitted { effects } => effects,
            Admitted::Refused(refusal) => return Relaunched::Refused(refusal.into()),
        };
        if let Some(session) = self.sessions.get_mut(&former) {
            effects.extend(tagged(&former, session.settle_relaunch(RelaunchState::Launched)));
        }
        Relaunched::Admitted { id, effects }
    }

    /// Whether the restart policy wants another launch of a session whose latest one is cleaned up, and ran so
    /// long. If so, that is noted: a stop from now on calls it off, for this daemon and for later ones.
    pub fn consider_restart(
        &mut self,
        id: &SessionId,
        ran: Duration,
    ) -> (RestartDecision, Effects) {
        let superseded = self.newest(id).is_none_or(|newest| newest.id != *id);
        let draining = self.draining;
        let Some(session) = self.sessions.get_mut(id) else {
            return (RestartDecision::Done(NoRestartReason::NotEnded), Vec::new());
        };
        let decision = match restart::decide(&RestartFacts::of(session, ran)) {
            RestartDecision::Relaunch { .. } if session.is_live() => {
                RestartDecision::Done(NoRestartReason::NotEnded)
            }
            RestartDecision::Relaunch { .. } if superseded => {
                RestartDecision::Done(NoRestartReason::Superseded)
            }
            RestartDecision::Relaunch { .. } if draining => {
                RestartDecision::Done(NoRestartReason::Wanted)
            }
            decision => decision,
        };
        let mut effects = Vec::new();
        let news = session.relaunch == RelaunchState::Undecided;
        if matches!(decision, RestartDecision::Relaunch { .. }) && news {
            effects.extend(tagged(id, session.settle_relaunch(RelaunchState::Pending)));
        }
        (decision, effects)
    }

    /// What was made for sessions and is kept, and for which launch: but not what a later launch has taken over.
    pub fn kept(&self) -> impl Iterator<Item = (&SessionId, &KeptItem)> {
        let ids = self.sessions.keys();
        ids.flat_map(|id| self.kept_by(id).map(move |kept| (id, kept)))
    }

    /// The same for one launch.
    pub fn kept_by(&self, id: &SessionId) -> impl Iterator<Item = &KeptItem> {
        let session = self.sessions.get(id);
        session.into_iter().flat_map(move |session| {
            session.kept.iter().filter(|kept| !self.is_taken_over(&session.id, kept))
        })
    }

    fn is_taken_over(&self, id: &SessionId, kept: &KeptItem) -> bool {
        // Each launch owes its worktree from the beginning. So one that has let go of it has removed it.
        let has_it = |later: &Session| worktree(&later.spec).as_ref() == Some(&kept.what);
        self.launches(id).any(|later| later.id > *id && has_it(later))
    }
}

/// Why the former launch, the latest so far, is not followed by another one just now.
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
        RelaunchBy::Person { who, parent, tethered } => {
            spec.asked_by = who;
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

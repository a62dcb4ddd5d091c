//! Members: which exist, which are busy, and the results of their prompts.
//!
//! A member is busy with a prompt until it is judged and no retry follows, and with a chat while it
//! is live. So no code has to free a busy member: whatever ends the prompt does.

use std::time::Duration;

use kennel_types::{
    Exit, Judged, LaunchFailure, Phase, Reason, RelaunchState, SessionId, UsageScope, VerdictKind,
};

use crate::member::Member;
use crate::retry::{self, NoRetryReason, Retry, RetryFacts};
use crate::session::Session;

use super::{Effects, RelaunchChanges, World, tagged};

/// How often Kennel relaunches a prompt that never ran because Kennel failed.
const MAX_RELAUNCHES: u32 = 3;
/// The pause before such a relaunch.
const RELAUNCH_PAUSE: Duration = Duration::from_millis(250);
/// After this many failed removals, a verdict does not wait for the cleanup any more.
const MAX_FAILED_REMOVALS: u32 = 3;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("member {0:?} already exists")]
pub struct MemberTaken(pub String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberRemoveError {
    #[error("there is no member {0:?}")]
    Unknown(String),
    #[error("member {name:?} is busy with session {by}")]
    Busy {
        name: String,
        /// The session that it works on.
        by: SessionId,
    },
    /// A prompt is queued for it, and would go to the next member with its name.
    #[error("session {by} is queued for member {name:?}")]
    Awaited { name: String, by: SessionId },
}

impl Session {
    fn is_of(&self, member: &str) -> bool {
        self.spec.agent.as_ref().is_some_and(|agent| agent.member.as_deref() == Some(member))
    }

    /// Returns whether it is a prompt that is not finished, or a live chat.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        let open = self.judged.is_none() || self.relaunch == RelaunchState::Pending;
        let talks = self.spec.agent.is_some() && !self.has_ended();
        if self.spec.is_prompt() { open } else { talks }
    }

    /// Returns whether it is a prompt that has ended and was not judged yet. Resources that can't
    /// be removed do not delay the verdict.
    #[must_use]
    pub fn awaits_verdict(&self) -> bool {
        let over = match self.phase {
            Phase::Cleaned => true,
            Phase::Reaped => self.owed.iter().any(|owed| owed.failures >= MAX_FAILED_REMOVALS),
            _ => false,
        };
        self.spec.is_prompt() && over && self.judged.is_none()
    }
}

impl World {
    /// Restores the members of the register, once, when the daemon starts.
    pub fn restore_members(&mut self, members: impl IntoIterator<Item = Member>) {
        self.members.extend(members.into_iter().map(|member| (member.name.clone(), member)));
    }

    pub fn members(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.members.values()
    }

    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.get(name)
    }

    pub fn add_member(&mut self, member: Member) -> Result<(), MemberTaken> {
        if self.members.contains_key(&member.name) {
            return Err(MemberTaken(member.name));
        }
        self.members.insert(member.name.clone(), member);
        Ok(())
    }

    /// Removes a member, unless it is busy or a prompt is queued for it.
    pub fn remove_member(&mut self, name: &str) -> Result<Member, MemberRemoveError> {
        let owned = name.to_owned();
        if let Some(by) = self.busy_with(name) {
            return Err(MemberRemoveError::Busy { name: owned, by: by.id.clone() });
        }
        if let Some(by) = self.prompts_of(name).next() {
            return Err(MemberRemoveError::Awaited { name: owned, by: by.id.clone() });
        }
        self.members.remove(name).ok_or(MemberRemoveError::Unknown(owned))
    }

    /// Returns the prompt or chat that a member is busy with. A queued one does not count.
    #[must_use]
    pub fn busy_with(&self, member: &str) -> Option<&Session> {
        let busy = |session: &&Session| {
            session.is_of(member) && session.is_asking() && session.phase != Phase::Queued
        };
        self.sessions.values().rev().find(busy)
    }

    /// Returns all unfinished prompts of a member, including queued ones.
    pub fn prompts_of<'a>(&'a self, member: &'a str) -> impl Iterator<Item = &'a Session> {
        let asks = move |it: &&Session| it.is_of(member) && it.is_asking();
        self.sessions.values().filter(asks)
    }

    pub fn waits_for<'a>(&'a self, member: &'a str) -> impl Iterator<Item = &'a Session> {
        self.sessions.values().filter(move |session| {
            session.is_of(member) && session.phase == Phase::Queued && !session.is_stop_wanted()
        })
    }

    /// Applies the decisions that were made when a queued prompt may start.
    pub fn resettle(&mut self, id: &SessionId, changes: RelaunchChanges) {
        if let Some(session) = self.sessions.get_mut(id) {
            changes.apply(&mut session.spec);
        }
    }

    /// Decides whether a judged prompt is retried. A retry is recorded as pending, so that a later
    /// stop calls it off, in this daemon or the next. `None`: it is not such a prompt, or this was
    /// already decided.
    pub fn consider_retry(
        &mut self,
        id: &SessionId,
        since_first: Duration,
        jitter: u16,
    ) -> Option<(Result<Retry, NoRetryReason>, Effects)> {
        let is_stale = |session: &Session| {
            let kind = session.judged.as_ref().map(|judged| judged.verdict.kind);
            kind == Some(VerdictKind::StaleConversation)
        };
        let stale_before = self.launches(id).any(|former| former.id < *id && is_stale(former));
        let superseded = self.newest(id).is_none_or(|newest| newest.id != *id);
        let draining = self.draining;
        let session = self.sessions.get_mut(id).filter(|_| !superseded)?;
        let decided =
            !matches!(session.relaunch, RelaunchState::Undecided | RelaunchState::Pending);
        let called_off = matches!(session.relaunch, RelaunchState::CalledOff { .. }) || draining;
        if !session.has_ended() || decided && !called_off {
            return None;
        }
        let facts = RetryFacts {
            agent: session.spec.agent.as_deref()?,
            judged: session.judged.as_ref()?,
            attempts: session.id.attempt(),
            stale_before,
            since_first,
            called_off,
            uncleaned: session.phase != Phase::Cleaned,
            may_have_run: matches!(session.exit, Some(Exit::Unknown { .. })),
            jitter,
        };
        let decision = match retry::decide(&facts) {
            // It never ran because Kennel failed, so a relaunch repeats nothing.
            Err(why)
                if why != NoRetryReason::NotCleaned && !called_off && was_our_fault(session) =>
            {
                Ok(Retry { after: RELAUNCH_PAUSE, fresh: false })
            }
            decision => decision,
        };
        let mut effects = Vec::new();
        if decision.is_ok() && session.relaunch == RelaunchState::Undecided {
            effects.extend(tagged(id, session.settle_relaunch(RelaunchState::Pending)));
        }
        Some((decision, effects))
    }

    /// Stores the verdict of an ended prompt, once. `unrecorded` returns whether the verdict of
    /// another session may not be recorded yet: the next daemon would judge it again. Returns
    /// `None` if it was judged before or is gone.
    pub fn judge(
        &mut self,
        id: &SessionId,
        judged: Judged,
        scope: UsageScope,
        at_ms: u64,
        unrecorded: impl Fn(&SessionId) -> bool,
    ) -> Option<Judgement> {
        let session = self.sessions.get_mut(id).filter(|session| session.awaits_verdict())?;
        let asked = session.spec.agent.as_ref();
        let (member, conversation) = asked
            .map(|agent| (agent.member.clone(), agent.conversation.clone()))
            .unwrap_or_default();
        let effects = tagged(id, session.settle_verdict(judged.clone())).collect();
        let member = member.and_then(|name| self.members.get_mut(&name));
        let member = member.map(|member| {
            member.count_attempt(id, conversation.as_deref(), &judged, scope, at_ms);
            let sessions = &self.sessions;
            member.forget_recorded(|other| {
                let unjudged = sessions.get(other).is_some_and(|session| session.judged.is_none());
                other == id || unjudged || unrecorded(other)
            });
            Box::new(member.clone())
        });
        Some(Judgement { effects, member })
    }
}

/// Returns whether a prompt never ran because Kennel failed: the daemon was killed before it could
/// grant the launch. A prompt that fails like this repeatedly does not count.
fn was_our_fault(session: &Session) -> bool {
    let internal =
        matches!(session.reason, Some(Reason::Failed { code: LaunchFailure::Internal, .. }));
    session.exit == Some(Exit::NeverRan) && internal && session.id.attempt() <= MAX_RELAUNCHES
}

/// What a verdict changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Judgement {
    pub effects: Effects,
    /// The changed member, if the prompt belongs to one.
    pub member: Option<Box<Member>>,
}

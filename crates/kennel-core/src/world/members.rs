//! Members: who they are, who of them is busy, and what they have learnt.
//!
//! A member is busy with a prompt while that lives, until it was judged, and while it is to be tried again; and with a
//! chat while that lives. So nobody has to set a busy member free: whatever ends the prompt does.

use std::time::Duration;

use kennel_types::{
    Exit, Judged, LaunchFailure, Phase, Reason, RelaunchState, SessionId, UsageScope, VerdictKind,
};

use crate::effect::Effect;
use crate::member::Member;
use crate::retry;
use crate::session::Session;

use super::{Effects, RelaunchChanges, World, tagged};

/// How often a prompt is launched again that never ran because of them …
const OUR_TRIES: u32 = 3;
/// … and after which pause.
const OUR_PAUSE: Duration = Duration::from_millis(250);
/// How often a removal has failed when nobody waits for it any more.
const STUBBORN: u32 = 3;

/// Why a member was not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is a member {0:?} already")]
pub struct MemberTaken(pub String);

/// Why a member was not removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberRemoveError {
    /// There is none.
    #[error("there is no member {0:?}")]
    Unknown(String),
    /// It works.
    #[error("member {name:?} is busy with session {by}")]
    Busy {
        /// The member.
        name: String,
        /// With what.
        by: SessionId,
    },
    /// A prompt waits for it: whoever gets the name next would get the prompt too.
    #[error("session {by} waits in line for member {name:?}")]
    Awaited {
        /// The member.
        name: String,
        /// Which prompt.
        by: SessionId,
    },
}

impl Session {
    /// Whether it is a prompt or a chat of this member's.
    fn is_of(&self, member: &str) -> bool {
        self.spec.agent.as_ref().is_some_and(|agent| agent.member.as_deref() == Some(member))
    }

    /// Whether it is a prompt on which the last word is not spoken, or a chat that goes on.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        let open = self.judged.is_none() || self.relaunch == RelaunchState::Pending;
        let talks = self.spec.agent.is_some() && !self.has_ended();
        if self.spec.is_prompt() { open } else { talks }
    }

    /// Whether it is a prompt that has ended and was not judged yet. What can't be removed does not keep it from that.
    #[must_use]
    pub fn awaits_verdict(&self) -> bool {
        let over = match self.phase {
            Phase::Cleaned => true,
            Phase::Reaped => self.owed.iter().any(|owed| owed.failures >= STUBBORN),
            _ => false,
        };
        self.spec.is_prompt() && over && self.judged.is_none()
    }
}

impl World {
    /// Those of the register, once, at the daemon's start.
    pub fn restore_members(&mut self, members: impl IntoIterator<Item = Member>) {
        self.members.extend(members.into_iter().map(|member| (member.name.clone(), member)));
    }

    /// All members, by name.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.members.values()
    }

    /// One member.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.get(name)
    }

    /// Takes a member in.
    ///
    /// # Errors
    /// There is one of that name.
    pub fn add_member(&mut self, member: Member) -> Result<(), MemberTaken> {
        if self.members.contains_key(&member.name) {
            return Err(MemberTaken(member.name));
        }
        self.members.insert(member.name.clone(), member);
        Ok(())
    }

    /// Forgets a member that is not busy, and that no prompt waits for.
    ///
    /// # Errors
    /// It is, or one does, or there is none.
    pub fn remove_member(&mut self, name: &str) -> Result<Member, MemberRemoveError> {
        if let Some(by) = self.busy_with(name) {
            let (name, by) = (name.to_owned(), by.id.clone());
            return Err(MemberRemoveError::Busy { name, by });
        }
        if let Some(by) = self.prompts_of(name).next() {
            let (name, by) = (name.to_owned(), by.id.clone());
            return Err(MemberRemoveError::Awaited { name, by });
        }
        self.members.remove(name).ok_or_else(|| MemberRemoveError::Unknown(name.to_owned()))
    }

    /// The prompt or chat that a member is busy with; not one that waits in line for its turn.
    #[must_use]
    pub fn busy_with(&self, member: &str) -> Option<&Session> {
        let busy = |session: &&Session| {
            session.is_of(member) && session.is_asking() && session.phase != Phase::Queued
        };
        self.sessions.values().rev().find(busy)
    }

    /// All prompts of a member on which the last word is not spoken, those in line too.
    pub fn prompts_of<'a>(&'a self, member: &'a str) -> impl Iterator<Item = &'a Session> {
        let asks = move |it: &&Session| it.is_of(member) && it.is_asking();
        self.sessions.values().filter(asks)
    }

    /// The prompts of a member that wait in line.
    pub fn waits_for<'a>(&'a self, member: &'a str) -> impl Iterator<Item = &'a Session> {
        self.sessions.values().filter(move |session| {
            session.is_of(member) && session.phase == Phase::Queued && !session.is_stop_wanted()
        })
    }

    /// What was decided on a prompt when its turn came.
    pub fn resettle(&mut self, id: &SessionId, changes: RelaunchChanges) {
        if let Some(session) = self.sessions.get_mut(id) {
            changes.apply(&mut session.spec);
        }
    }

    /// Whether a prompt that was judged is tried again. If so, that is noted: a stop from now on calls it off, for
    /// this daemon and for later ones. None: it is no such prompt, or that was decided before.
    pub fn consider_retry(
        &mut self,
        id: &SessionId,
        since_first: Duration,
        jitter: u16,
    ) -> Option<(retry::RetryDecision, Effects)> {
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
        let facts = retry::RetryFacts {
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
            // It never ran, and that was our fault: nothing is repeated.
            retry::RetryDecision::Done(why)
                if why != retry::NoRetryReason::NotCleaned
                    && !called_off
                    && was_our_fault(session) =>
            {
                retry::RetryDecision::Again {
                    after: OUR_PAUSE,
                    how: retry::RetryConversation::Same,
                }
            }
            decision => decision,
        };
        let mut effects = Vec::new();
        let news = session.relaunch == RelaunchState::Undecided;
        if matches!(decision, retry::RetryDecision::Again { .. }) && news {
            effects.extend(tagged(id, session.settle_relaunch(RelaunchState::Pending)));
        }
        Some((decision, effects))
    }

    /// A prompt that has ended was judged: once, whoever says so again. `unrecorded` says of which former prompts that may
    /// not be on record: those are judged again by the next daemon.
    pub fn judge(
        &mut self,
        id: &SessionId,
        judged: Judged,
        scope: UsageScope,
        at_ms: u64,
        unrecorded: impl Fn(&SessionId) -> bool,
    ) -> Judgement {
        let Some(session) = self.sessions.get_mut(id).filter(|session| session.awaits_verdict())
        else {
            return Judgement::Old;
        };
        let asked = session.spec.agent.as_ref();
        let (member, conversation) = asked
            .map(|agent| (agent.member.clone(), agent.conversation.clone()))
            .unwrap_or_default();
        let effects: Vec<Effect> = session.settle_verdict(judged.clone());
        let effects = tagged(id, effects).collect();
        let member = member.and_then(|name| self.members.get_mut(&name));
        let learnt = member.map(|member| {
            member.learn(id, conversation.as_deref(), &judged, scope, at_ms);
            let sessions = &self.sessions;
            member.settle_learnt(|other| {
                let unjudged = sessions.get(other).is_some_and(|session| session.judged.is_none());
                other == id || unjudged || unrecorded(other)
            });
            Box::new(member.clone())
        });
        Judgement::News { effects, learnt }
    }
}

/// Whether a prompt was never asked because Kennel itself failed: its daemon was killed before it could grant the launch.
/// A few times: what fails so again and again is no accident.
fn was_our_fault(session: &Session) -> bool {
    let internal =
        matches!(session.reason, Some(Reason::Failed { code: LaunchFailure::Internal, .. }));
    session.exit == Some(Exit::NeverRan) && internal && session.id.attempt() <= OUR_TRIES
}

/// What a verdict changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Judgement {
    /// It is on the session now.
    News {
        /// What is to be done.
        effects: Effects,
        /// The member, as it is now.
        learnt: Option<Box<Member>>,
    },
    /// Nothing: it was judged before, or is gone.
    Old,
}

//! Whether and when a prompt is retried automatically.
//!
//! Only failures of the provider are retried: it was overloaded, failed, or could not be reached.
//! An attempt that did work, or may have, is repeated only on request. If the member's conversation
//! is gone, there is one attempt without it, unless the caller named the conversation. Everything
//! else is left to the user.
//!
//! The decision follows the end of the previous launch and the record of its verdict.

use std::time::Duration;

use kennel_types::{AgentSpec, ConversationChoice, Judged, VerdictKind, Work};

/// The pause before the first retry. It doubles with each further one. The agents' programs have
/// already retried for a while themselves.
const SHORTEST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause, unless the provider requests a longer one. The jitter comes on top.
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The facts about a prompt's newest launch, once it is gone.
#[derive(Debug, Clone, Copy)]
pub struct RetryFacts<'a> {
    /// The request, with the conversation that this launch continued.
    pub agent: &'a AgentSpec,
    pub judged: &'a Judged,
    /// The number of launches, including this one.
    pub attempts: u32,
    /// Whether an earlier launch failed because its conversation was gone.
    pub stale_before: bool,
    pub since_first: Duration,
    pub called_off: bool,
    /// Whether one of its resources can't be removed.
    pub uncleaned: bool,
    /// Whether it was granted and its end is unknown.
    pub may_have_run: bool,
    /// A random share of the maximum jitter: prompts that failed together retry at different times.
    pub jitter: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    pub after: Duration,
    /// Whether it starts a new conversation, because the one that the attempt continued is gone.
    pub fresh: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NoRetryReason {
    #[error("it succeeded")]
    Succeeded,
    #[error("a failure of this kind is not retried")]
    NotThatKind,
    #[error("the requested conversation is gone, and no other takes its place")]
    ExplicitConversation,
    #[error("a new conversation was already started in place of one that is gone")]
    StaleTwice,
    #[error("it already did work, and a repetition was not requested")]
    DidWork,
    #[error("it may have done work, and a repetition was not requested")]
    MayHaveRun,
    #[error("it reached its maximum number of retries")]
    TooOften,
    #[error("the next retry would start later than allowed")]
    TooLong,
    #[error("its resources could not be removed")]
    NotCleaned,
    #[error("it was stopped")]
    CalledOff,
}

pub fn decide(facts: &RetryFacts<'_>) -> Result<Retry, NoRetryReason> {
    let retry = match facts.judged.verdict.kind {
        VerdictKind::Succeeded => Err(NoRetryReason::Succeeded),
        VerdictKind::Cancelled => Err(NoRetryReason::CalledOff),
        _ if facts.called_off => Err(NoRetryReason::CalledOff),
        VerdictKind::StaleConversation => without_the_conversation(facts),
        VerdictKind::Overloaded
        | VerdictKind::RateLimited
        | VerdictKind::Server
        | VerdictKind::Unreachable => after_a_pause(facts),
        // Even if a repetition was requested: an unknown end is not a failure of the provider.
        VerdictKind::Unknown if facts.may_have_run => Err(NoRetryReason::MayHaveRun),
        VerdictKind::Auth
        | VerdictKind::UntrustedFolder
        | VerdictKind::MaxTurns
        | VerdictKind::RefusedFlags
        | VerdictKind::TimedOut
        | VerdictKind::Killed
        | VerdictKind::Crashed
        | VerdictKind::Unknown => Err(NoRetryReason::NotThatKind),
    }?;
    if facts.uncleaned { Err(NoRetryReason::NotCleaned) } else { Ok(retry) }
}

/// Allows one launch without the conversation, at once. It does not count as a retry, because the
/// provider works.
fn without_the_conversation(facts: &RetryFacts<'_>) -> Result<Retry, NoRetryReason> {
    match (&facts.agent.conversation_choice, &facts.agent.conversation) {
        (ConversationChoice::Resume { .. }, _) => return Err(NoRetryReason::ExplicitConversation),
        // It continued no conversation, so none can be gone.
        (ConversationChoice::Fresh, _) | (ConversationChoice::Continue, None) => {
            return Err(NoRetryReason::NotThatKind);
        }
        (ConversationChoice::Continue, Some(_)) => {}
    }
    if facts.stale_before {
        return Err(NoRetryReason::StaleTwice);
    }
    if facts.may_have_run && !facts.agent.replay {
        return Err(NoRetryReason::MayHaveRun);
    }
    // An agent whose conversation is gone can't do work. If it did, it only mentioned a missing
    // conversation.
    let judged = facts.judged;
    let began = judged.turns.is_some_and(|turns| turns > 0) || judged.usage.output_tokens > 0;
    if (did_work(judged) || began && judged.work != Work::None) && !facts.agent.replay {
        return Err(NoRetryReason::DidWork);
    }
    in_time(facts, Duration::ZERO)?;
    Ok(Retry { after: Duration::ZERO, fresh: true })
}

fn after_a_pause(facts: &RetryFacts<'_>) -> Result<Retry, NoRetryReason> {
    let judged = facts.judged;
    if !facts.agent.replay {
        if did_work(judged) {
            return Err(NoRetryReason::DidWork);
        }
        if facts.may_have_run || judged.work == Work::Unknown {
            return Err(NoRetryReason::MayHaveRun);
        }
    }
    let tries = facts.attempts.saturating_sub(1).saturating_sub(u32::from(facts.stale_before));
    if tries >= facts.agent.retries {
        return Err(NoRetryReason::TooOften);
    }
    let after = pause(tries, judged.verdict.retry_after, facts.jitter);
    in_time(facts, after)?;
    Ok(Retry { after, fresh: false })
}

fn did_work(judged: &Judged) -> bool {
    judged.work == Work::Tools || judged.tools > 0
}

/// Checks that a retry may start after this pause.
fn in_time(facts: &RetryFacts<'_>, after: Duration) -> Result<(), NoRetryReason> {
    let limit = facts.agent.retry_within_ms.map(Duration::from_millis);
    let begins = facts.since_first.saturating_add(after);
    if limit.is_some_and(|limit| begins > limit) { Err(NoRetryReason::TooLong) } else { Ok(()) }
}

/// Returns the pause after this many retries: at least what the provider requests, plus a jitter of
/// up to a quarter.
fn pause(tries: u32, retry_after: Option<Duration>, jitter: u16) -> Duration {
    // More doublings exceed the longest pause anyway.
    let ours = SHORTEST_PAUSE.saturating_mul(1 << tries.min(16)).min(LONGEST_PAUSE);
    let least = ours.max(retry_after.unwrap_or_default());
    let more = least / 4 / u32::from(u16::MAX) * u32::from(jitter);
    least.saturating_add(more)
}

#[cfg(test)]
mod tests;

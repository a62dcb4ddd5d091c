//! Whether a prompt is tried again by itself, and when.
//!
//! Only what the provider is to blame for is tried again: it had too much to do, it failed, it could not be reached.
//! What did work, or may have, is not repeated unless that was asked for. A conversation that is not there any more costs one
//! launch without it, if nobody named it. Everything else is a person's to decide.
//!
//! The caller decides only after the former launch was seen to be gone and its verdict is on record.

use std::time::Duration;

use kennel_types::{AgentSpec, ConversationChoice, Judged, VerdictKind, Work};

/// The pause before the first repetition; each further one takes twice as long. The agents' own programs have tried for
/// a while already.
const SHORTEST_PAUSE: Duration = Duration::from_secs(2);
/// No pause is longer, unless the provider says so; what chance adds comes on top.
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

/// What is known of a prompt's newest launch, once it is gone.
#[derive(Debug, Clone, Copy)]
pub struct RetryFacts<'a> {
    /// What was asked, with the conversation that this launch went on with.
    pub agent: &'a AgentSpec,
    /// What became of it.
    pub judged: &'a Judged,
    /// How many launches there were, this one among them.
    pub attempts: u32,
    /// Whether one of them was made because a conversation was not there any more.
    pub stale_before: bool,
    /// How long ago the first one began.
    pub since_first: Duration,
    /// Whether somebody wanted the end.
    pub called_off: bool,
    /// Whether something of its can't be removed.
    pub uncleaned: bool,
    /// Whether its gate was told to open, and nobody knows how it ended.
    pub may_have_run: bool,
    /// How much of the longest addition the pause gets, drawn by the caller: all prompts that failed at once shall not
    /// come back at once.
    pub jitter: u16,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum RetryDecision {
    /// Another launch.
    Again {
        /// After this long.
        after: Duration,
        /// With which conversation.
        how: RetryConversation,
    },
    /// That was it.
    Done(NoRetryReason),
}

/// What another launch goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryConversation {
    /// The same as this one.
    Same,
    /// A new conversation: the one that it went on with is to be forgotten.
    Fresh,
}

/// Why there is no other launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NoRetryReason {
    /// It has its answer.
    #[error("it succeeded")]
    Succeeded,
    /// Another launch would not help.
    #[error("it failed in a way that is not tried again")]
    NotThatKind,
    /// The conversation that somebody named is not there.
    #[error("the conversation that was asked for is not there, and no other takes its place")]
    ExplicitConversation,
    /// A new conversation was begun already.
    #[error("a new conversation was begun already in place of one that is not there")]
    StaleTwice,
    /// It ran tools.
    #[error("it did work already, and nobody asked to have that repeated")]
    DidWork,
    /// It may have run tools.
    #[error("it may have done work, and nobody asked to have that repeated")]
    MayHaveRun,
    /// It was tried often enough.
    #[error("it was tried as often as allowed")]
    TooOften,
    /// The next try would come too late.
    #[error("the next try would begin later than allowed")]
    TooLong,
    /// No launch follows one that is not cleaned up, and nobody waits for ever.
    #[error("what it left could not be removed")]
    NotCleaned,
    /// Somebody wanted the end.
    #[error("its end was wanted")]
    CalledOff,
}

/// Decides.
pub fn decide(facts: &RetryFacts<'_>) -> RetryDecision {
    let decided = match facts.judged.verdict.kind {
        VerdictKind::Succeeded => Err(NoRetryReason::Succeeded),
        VerdictKind::Cancelled => Err(NoRetryReason::CalledOff),
        _ if facts.called_off => Err(NoRetryReason::CalledOff),
        VerdictKind::StaleConversation => without_the_conversation(facts),
        VerdictKind::Overloaded
        | VerdictKind::RateLimited
        | VerdictKind::Server
        | VerdictKind::Unreachable => after_a_pause(facts),
        // Whatever was asked for: that nobody knows its end does not put the blame on the provider.
        VerdictKind::Unknown if facts.may_have_run => Err(NoRetryReason::MayHaveRun),
        VerdictKind::Auth
        | VerdictKind::UntrustedFolder
        | VerdictKind::MaxTurns
        | VerdictKind::RefusedFlags
        | VerdictKind::TimedOut
        | VerdictKind::Killed
        | VerdictKind::Crashed
        | VerdictKind::Unknown => Err(NoRetryReason::NotThatKind),
    };
    match decided {
        Ok(_) if facts.uncleaned => RetryDecision::Done(NoRetryReason::NotCleaned),
        Ok((after, how)) => RetryDecision::Again { after, how },
        Err(why) => RetryDecision::Done(why),
    }
}

/// One launch without the conversation, at once. It is not one of the tries that are counted: the provider is well.
fn without_the_conversation(
    facts: &RetryFacts<'_>,
) -> Result<(Duration, RetryConversation), NoRetryReason> {
    match (&facts.agent.wish, &facts.agent.conversation) {
        (ConversationChoice::Resume { .. }, _) => return Err(NoRetryReason::ExplicitConversation),
        // It went on with none, so that none can be missing.
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
    // Without its conversation an agent can't do anything. One that did something all the same only spoke of a
    // conversation.
    let judged = facts.judged;
    let began = judged.turns.is_some_and(|turns| turns > 0) || judged.usage.output_tokens > 0;
    if (did_work(judged) || began && judged.work != Work::None) && !facts.agent.replay {
        return Err(NoRetryReason::DidWork);
    }
    in_time(facts, Duration::ZERO)?;
    Ok((Duration::ZERO, RetryConversation::Fresh))
}

fn after_a_pause(facts: &RetryFacts<'_>) -> Result<(Duration, RetryConversation), NoRetryReason> {
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
    Ok((after, RetryConversation::Same))
}

fn did_work(judged: &Judged) -> bool {
    judged.work == Work::Tools || judged.tools > 0
}

/// Whether a try may begin after this long.
fn in_time(facts: &RetryFacts<'_>, after: Duration) -> Result<(), NoRetryReason> {
    let limit = facts.agent.retry_within_ms.map(Duration::from_millis);
    let begins = facts.since_first.saturating_add(after);
    if limit.is_some_and(|limit| begins > limit) { Err(NoRetryReason::TooLong) } else { Ok(()) }
}

/// The pause after so many tries, as long as the provider says or longer; up to a quarter more by chance.
fn pause(tries: u32, retry_after: Option<Duration>, jitter: u16) -> Duration {
    // Beyond that it is the longest anyway.
    let ours = SHORTEST_PAUSE.saturating_mul(1 << tries.min(16)).min(LONGEST_PAUSE);
    let least = ours.max(retry_after.unwrap_or_default());
    let more = least / 4 / u32::from(u16::MAX) * u32::from(jitter);
    least.saturating_add(more)
}

#[cfg(test)]
mod tests;

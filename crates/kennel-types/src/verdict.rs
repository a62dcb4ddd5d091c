//! What became of a prompt: a value of its own, apart from the exit status of the program that was asked.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::millis;
use crate::unset::is_unset;

/// The most bytes of text that are kept as evidence.
pub const MOST_EVIDENCE: usize = 2_000;

/// What became of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The agent says that it has done what it was asked.
    Succeeded,
    /// The provider does not know the key, or the user is not logged in.
    Auth,
    /// The conversation that was to go on is not there.
    StaleConversation,
    /// The provider has too much to do.
    Overloaded,
    /// The user has asked too much of the provider.
    RateLimited,
    /// The provider failed.
    Server,
    /// The provider can't be reached.
    Unreachable,
    /// The agent does not work in this folder before a person has said that it may.
    UntrustedFolder,
    /// It has used up its turns.
    MaxTurns,
    /// It does not take these arguments.
    RefusedFlags,
    /// Somebody stopped it.
    Cancelled,
    /// A limit of time ended it.
    TimedOut,
    /// Somebody else than Kennel killed it.
    Killed,
    /// It ended without a result.
    Crashed,
    /// Nobody can tell.
    Unknown,
}

impl VerdictKind {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Succeeded,
        Self::Auth,
        Self::StaleConversation,
        Self::Overloaded,
        Self::RateLimited,
        Self::Server,
        Self::Unreachable,
        Self::UntrustedFolder,
        Self::MaxTurns,
        Self::RefusedFlags,
        Self::Cancelled,
        Self::TimedOut,
        Self::Killed,
        Self::Crashed,
        Self::Unknown,
    ];

    /// Its stable name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Auth => "auth",
            Self::StaleConversation => "stale_conversation",
            Self::Overloaded => "overloaded",
            Self::RateLimited => "rate_limited",
            Self::Server => "server",
            Self::Unreachable => "unreachable",
            Self::UntrustedFolder => "untrusted_folder",
            Self::MaxTurns => "max_turns",
            Self::RefusedFlags => "refused_flags",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Killed => "killed",
            Self::Crashed => "crashed",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for VerdictKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A verdict, and what it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// What became of it.
    pub kind: VerdictKind,
    /// Where that was seen.
    pub source: EvidenceSource,
    /// What was seen there, word for word; at most [`MOST_EVIDENCE`] bytes of it.
    pub evidence: String,
    /// How long the provider says to wait before the next try.
    #[serde(
        rename = "retry_after_ms",
        alias = "retry_after",
        default,
        skip_serializing_if = "is_unset",
        with = "millis::option"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub retry_after: Option<Duration>,
}

impl Verdict {
    /// With as much of the text as is kept: its beginning, on the border of a character.
    #[must_use]
    pub fn new(kind: VerdictKind, source: EvidenceSource, evidence: &str) -> Self {
        let evidence = beginning_of(evidence, MOST_EVIDENCE).to_owned();
        Self { kind, source, evidence, retry_after: None }
    }
}

/// At most so many bytes of the beginning of a text, up to the border of a character.
#[must_use]
pub fn beginning_of(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Where the evidence of a verdict was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// In the result that the agent told in its own format.
    Result,
    /// In its standard output.
    Stdout,
    /// In its standard error.
    Stderr,
    /// In how its process ended.
    Exit,
    /// Kennel itself knows: it stopped the agent, or could not start it.
    Kennel,
}

/// What a prompt has used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Usage {
    /// Tokens that the model has read, without those that were cached.
    pub input_tokens: u64,
    /// Tokens that it has read from a cache.
    pub cached_tokens: u64,
    /// Tokens that it has written.
    pub output_tokens: u64,
    /// What it cost, in millionths of a dollar, as far as the agent tells.
    pub cost_micros: u64,
}

impl Usage {
    /// What is in it beyond what is in another one.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(other.cached_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            cost_micros: self.cost_micros.saturating_sub(other.cost_micros),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.input_tokens, more.input_tokens);
        add(&mut self.cached_tokens, more.cached_tokens);
        add(&mut self.output_tokens, more.output_tokens);
        add(&mut self.cost_micros, more.cost_micros);
    }
}

/// What the usage is of that an agent tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageScope {
    /// Of this attempt.
    Attempt,
    /// Of the whole conversation, former prompts included.
    Conversation,
}

/// Whether an attempt did something that a repetition would do twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// It did nothing: no tool was run, as far as it told, and it told everything.
    None,
    /// Nobody can tell.
    #[default]
    Unknown,
    /// It ran tools.
    Tools,
}

/// How an attempt at a prompt was judged. The answer itself is in its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// What became of it.
    pub verdict: Verdict,
    /// The conversation that it was, as the agent calls it.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub conversation: Option<String>,
    /// What it has used up.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub usage: Usage,
    /// Whether it did something.
    pub work: Work,
    /// How many turns it took, if it told.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub turns: Option<u32>,
    /// How many tools it ran.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub tools: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_in_json() {
        for kind in VerdictKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn evidence_is_cut_between_characters() {
        let long = "ü".repeat(MOST_EVIDENCE);
        let verdict = Verdict::new(VerdictKind::Unknown, EvidenceSource::Stdout, &long);
        assert_eq!(verdict.evidence.len(), MOST_EVIDENCE);
        assert!(long.starts_with(&verdict.evidence));
    }

    #[test]
    fn usage_adds_up_and_never_overflows() {
        let mut sum = Usage { output_tokens: u64::MAX, ..Usage::default() };
        sum += Usage { input_tokens: 2, output_tokens: 1, ..Usage::default() };
        assert_eq!((sum.input_tokens, sum.output_tokens), (2, u64::MAX));
    }
}

//! The verdict on a prompt, which is separate from the exit status of the agent's process.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{is_unset, millis};

/// The maximum size of the evidence, in bytes.
pub const MAX_EVIDENCE_BYTES: usize = 2_000;

/// The result of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum VerdictKind {
    /// The agent reported success.
    Succeeded,
    /// The provider rejected the API key, or the user is not logged in.
    Auth,
    /// The conversation to continue does not exist any more.
    StaleConversation,
    /// The provider is overloaded.
    Overloaded,
    /// The user exceeded the provider's rate limit.
    RateLimited,
    /// The provider failed.
    Server,
    /// The provider can't be reached.
    Unreachable,
    /// The agent does not work in this directory until a user trusts it.
    UntrustedFolder,
    /// The agent used all its turns.
    MaxTurns,
    /// The agent does not accept these arguments.
    RefusedFlags,
    /// A caller stopped it.
    Cancelled,
    /// A time limit ended it.
    TimedOut,
    /// A process other than Kennel killed it.
    Killed,
    /// It ended without a result.
    Crashed,
    /// Unknown.
    Unknown,
}

impl VerdictKind {
    /// All kinds.
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the stable name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A verdict and its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The verdict.
    pub kind: VerdictKind,
    /// Where the evidence was found.
    pub source: EvidenceSource,
    /// The evidence, verbatim, at most [`MAX_EVIDENCE_BYTES`] of it.
    pub evidence: String,
    /// How long to wait before a retry, according to the provider.
    #[serde(rename = "retry_after_ms", default, skip_serializing_if = "is_unset", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub retry_after: Option<Duration>,
}

impl Verdict {
    /// Makes a verdict. Evidence that is too long is cut at a character boundary.
    #[must_use]
    pub fn new(kind: VerdictKind, source: EvidenceSource, evidence: &str) -> Self {
        let evidence = beginning_of(evidence, MAX_EVIDENCE_BYTES).to_owned();
        Self { kind, source, evidence, retry_after: None }
    }
}

/// Returns at most `most` bytes of the start of a text, cut at a character boundary.
#[must_use]
pub fn beginning_of(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Where the evidence of a verdict was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// In the result that the agent reported in its own format.
    Result,
    /// In its standard output.
    Stdout,
    /// In its standard error.
    Stderr,
    /// In the exit status of its process.
    Exit,
    /// In Kennel itself: it stopped the agent, or could not start it.
    Kennel,
}

/// The tokens and cost of prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TokenUsage {
    /// Tokens that the model read, without cached ones.
    pub input_tokens: u64,
    /// Tokens that the model read from a cache.
    pub cached_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// The cost, in millionths of a dollar, as far as the agent reports it.
    pub cost_micros: u64,
}

impl TokenUsage {
    /// Returns the usage that exceeds `other`, field by field.
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

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, more: Self) {
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.input_tokens, more.input_tokens);
        add(&mut self.cached_tokens, more.cached_tokens);
        add(&mut self.output_tokens, more.output_tokens);
        add(&mut self.cost_micros, more.cost_micros);
    }
}

/// What the usage that an agent reports covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageScope {
    /// Only this attempt.
    Attempt,
    /// The whole conversation, including earlier prompts.
    Conversation,
}

/// Whether an attempt did work that a retry would repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// No tool ran, and the agent reported everything it did.
    None,
    /// Unknown.
    #[default]
    Unknown,
    /// It ran tools.
    Tools,
}

/// The judged attempt at a prompt. The answer itself is in the session's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The id of the conversation, as the agent reports it.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub conversation: Option<String>,
    /// The tokens used, and their cost.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub usage: TokenUsage,
    /// Whether it did work that a retry would repeat.
    pub work: Work,
    /// The number of turns, if the agent reported it.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub turns: Option<u32>,
    /// The number of tools that it ran.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub tools: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_json() {
        for kind in VerdictKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn cuts_evidence_at_a_character_boundary() {
        let long = "ü".repeat(MAX_EVIDENCE_BYTES);
        let verdict = Verdict::new(VerdictKind::Unknown, EvidenceSource::Stdout, &long);
        assert_eq!(verdict.evidence.len(), MAX_EVIDENCE_BYTES);
        assert!(long.starts_with(&verdict.evidence));
    }

    #[test]
    fn usage_saturates() {
        let mut sum = TokenUsage { output_tokens: u64::MAX, ..TokenUsage::default() };
        sum += TokenUsage { input_tokens: 2, output_tokens: 1, ..TokenUsage::default() };
        assert_eq!((sum.input_tokens, sum.output_tokens), (2, u64::MAX));
    }
}

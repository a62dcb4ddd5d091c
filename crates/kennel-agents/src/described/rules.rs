//! The `verdict` rules of a description: the verdict for a text or an exit code.

use kennel_types::{EvidenceSource, VerdictKind};
use regex::Regex;
use serde::Deserialize;

use super::parse_pattern;
use crate::attempt_end::ProcessEnd;
use crate::error::DescriptionError;
use crate::output_format::KeptOutput;

/// A rule as it is written in TOML.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleText {
    kind: VerdictKind,
    stream: Option<StreamName>,
    contains: Option<String>,
    matches: Option<String>,
    exit: Option<i32>,
}

#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum StreamName {
    Stdout,
    Stderr,
}

/// A valid rule: its verdict applies if all its conditions hold.
#[derive(Debug)]
pub(super) struct VerdictRule {
    pub(super) kind: VerdictKind,
    stream: Option<StreamName>,
    text: Option<Regex>,
    exit: Option<i32>,
}

/// The evidence for a rule that applies.
pub(super) struct RuleMatch {
    pub(super) source: EvidenceSource,
    pub(super) text: String,
}

impl VerdictRule {
    pub(super) fn check(number: usize, rule: RuleText) -> Result<Self, DescriptionError> {
        use VerdictKind as Kind;
        let key = format!("verdict {number}");
        let invalid = |why: &str| Err(DescriptionError(format!("{key}: {why}")));
        if matches!(rule.kind, Kind::Cancelled | Kind::TimedOut | Kind::Killed) {
            let kind = rule.kind.name();
            return invalid(&format!("only Kennel itself can set the verdict {kind:?}"));
        }
        let pattern = match (rule.contains, rule.matches) {
            (Some(_), Some(_)) => return invalid("contains and matches are mutually exclusive"),
            (None, None) if rule.exit.is_none() => {
                return invalid("a rule needs at least one of contains, matches and exit");
            }
            (contains, matches) => contains.map(|text| regex::escape(&text)).or(matches),
        };
        let parse = |pattern: String| parse_pattern(&key, &pattern);
        let text = pattern.map(parse).transpose()?;
        Ok(Self { kind: rule.kind, stream: rule.stream, text, exit: rule.exit })
    }

    /// Returns the evidence if all conditions hold.
    pub(super) fn apply(&self, output: &KeptOutput<'_>, end: &ProcessEnd) -> Option<RuleMatch> {
        if self.exit.is_some_and(|code| *end != ProcessEnd::Exited(code)) {
            return None;
        }
        let Some(pattern) = &self.text else {
            return Some(RuleMatch { source: EvidenceSource::Exit, text: end.to_string() });
        };
        let streams = [
            (StreamName::Stderr, EvidenceSource::Stderr, output.stderr),
            (StreamName::Stdout, EvidenceSource::Stdout, output.stdout),
        ];
        let selected = |name| self.stream.is_none_or(|stream| stream == name);
        streams.into_iter().filter(|(name, ..)| selected(*name)).find_map(|(_, source, text)| {
            let line = text.lines().find(|line| pattern.is_match(line))?;
            Some(RuleMatch { source, text: line.trim().to_owned() })
        })
    }
}
